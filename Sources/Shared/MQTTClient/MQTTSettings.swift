import FoundationEssentials
import TelemetryBasics

/// The known facts about a broker and this client's part in it.
package struct MQTTSettings: Sendable {
    package var address: MQTTAddress
    /// Names the client at the broker. A second client with the same one throws the first out.
    package var clientID: String
    /// The broker's credentials; `nil` for none.
    package var user: String?
    package var password: String?
    package var security = MQTTSecurity()
    /// What the broker publishes when the connection ends without a disconnect.
    package var will: MQTTMessage?
    /// The longest silence on the connection. Whole seconds, 5 s to 18 h.
    package var keepAlive: Duration = .seconds(60)
    /// The largest packet that this client takes, in bytes. The broker throws larger ones away.
    package var maximumPacketBytes: UInt32 = 256 * 1024
    /// The most messages that the broker sends without an acknowledgement.
    package var receiveMaximum: UInt16 = 20
    /// The time limit of a connection: TCP, TLS and the broker's answer. TCP alone may take as long as the system lets
    /// it.
    package var connectTimeout: Duration = .seconds(20)
    /// The time limit of an acknowledgement.
    package var acknowledgementTimeout: Duration = .seconds(20)

    package init(address: MQTTAddress, clientID: String) {
        self.address = address
        self.clientID = clientID
    }
}

/// Whom TLS trusts, and what this client shows.
package struct MQTTSecurity: Equatable, Sendable {
    /// PEM file of further trusted certificate authorities; `nil` for none.
    package var authorityFile: String?
    /// Further trusted certificate authorities, each in DER. One that cannot be read is left out.
    package var authorities: [Data] = []
    /// Whether the system's authorities are trusted, too.
    package var trustsSystem = true
    /// SHA-256 of the subject public key infos that the broker may have, 32 bytes each; empty for any.
    package var pins: [Data] = []
    /// PEM files of a client certificate with its chain, and of its key without a passphrase; both or neither.
    package var certificateFile: String?
    package var keyFile: String?

    package init() {}
}

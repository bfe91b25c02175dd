/// The collector's certificates and pins.
package struct CertificatesView: Codable, Equatable, Sendable {
    /// `null` if the collector serves plain HTTP.
    package var server: Server?
    /// Absent if nobody has made a backup key.
    package var backupPin: String?
    package var devices = Devices()

    /// The certificates of the server's TLS, and the files that they come from.
    package struct Server: Codable, Equatable, Sendable {
        package var certificateFile = ""
        package var keyFile = ""
        /// The server's own first.
        package var chain: [CertificateView] = []
        /// Why the files could not be read again; the former certificate stays in use. Absent if they could.
        package var failure: String?
        package var clientAuthorityFile: String?
        /// Authorities of the clients that the server admits, as they were read at the start.
        package var clientAuthorities: [CertificateView]?

        package init() {}
    }

    /// The authority of devices' certificates.
    package struct Devices: Codable, Equatable, Sendable {
        /// `off`, `optional` or `required`.
        package var certificates = ""
        /// The rest is absent if devices have no certificates.
        package var authorityFile: String?
        /// The issuing one first.
        package var authorities: [CertificateView]?
        package var validDays: Int?

        package init() {}
    }

    package init() {}

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(server, forKey: .server)
        try container.encodeIfPresent(backupPin, forKey: .backupPin)
        try container.encode(devices, forKey: .devices)
    }
}

/// The facts about a certificate that people should know.
package struct CertificateView: Codable, Equatable, Sendable {
    package var subject = ""
    /// DNS names, addresses and other names that it is for.
    package var names: [String] = []
    package var issuer = ""
    /// The serial number in hexadecimal.
    package var serial = ""
    package var validFrom = ""
    package var validUntil = ""
    /// Base64 of SHA-256 of its subject public key info; absent if the key's kind is not known.
    package var keyPin: String?

    package init() {}
}

import CLibMosquitto
import Glibc
import TelemetryBasics

/// Why something with a broker failed. Each message names the broker and the remedy.
package struct MQTTError: CodedError, Equatable {
    package enum Code: String, Sendable {
        /// libmosquitto is missing or cannot be used.
        case library
        /// An address, a topic, a file of credentials or a certificate cannot be used.
        case configuration
        case nameResolution = "name-resolution"
        case connectionRefused = "connection-refused"
        case connectionClosed = "connection-closed"
        /// The broker did not answer in time, or not to the keep-alive.
        case unresponsive
        case tls
        /// The broker's key is none of those it is pinned to.
        case pinMismatch = "pin-mismatch"
        /// 134: the broker does not know user and password.
        case badCredentials = "bad-credentials"
        /// 135: an ACL of the broker forbids it.
        case notAuthorized = "not-authorized"
        /// 128: the broker says no reason.
        case unspecified
        /// 142: another client came with the same client id.
        case takenOver = "taken-over"
        /// 149: the broker takes no message of that size.
        case packetTooLarge = "packet-too-large"
        /// 136, 137, 139: it is busy or stops.
        case unavailable
        /// 143, 144: the topic is not valid for the broker.
        case topic
        /// The broker lacks something of MQTT 5 that is needed.
        case notSupported = "not-supported"
        case cancelled
        case other
    }

    package var code: Code
    /// The text for people: what failed, with which broker, and what to look at.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension MQTTError {
    /// What was asked when the broker answered with a reason code.
    enum Request: Equatable {
        case connect
        case subscribe(String)
        case publish(String)
        /// The broker ended the connection by itself.
        case none
    }

    /// - Parameter reason: a reason code of MQTT 5.0, 2.4, from 128.
    init(reason: CInt, of request: Request, peer: String, clientID: String) {
        let what =
            switch request {
            case .connect: "the broker \(peer) refused the connection of \(clientID)"
            case .subscribe(let filter): "the broker \(peer) refused the subscription to \(filter)"
            case .publish(let topic): "the broker \(peer) refused a message to \(topic)"
            case .none: "the broker \(peer) closed the connection of \(clientID)"
            }
        let (code, words): (Code, String) =
            switch reason {
            case 128:
                (
                    .unspecified,
                    "128, unspecified error: brokers say so of topics with unsupported characters such as + and #, "
                        + "and of faults of their own. Check the prefix and the name in the topic, then the broker's "
                        + "log"
                )
            case 129, 130: (.other, "\(reason), it did not understand the packet: check that it speaks MQTT 5")
            case 132: (.notSupported, "132, unsupported protocol version: a broker with MQTT 5 is needed")
            case 133:
                (.configuration, "133, client identifier not valid: give another mqttName that the broker accepts")
            case 134: (.badCredentials, "134, bad user name or password: check mqttUser and mqttPasswordFile")
            case 135:
                (
                    .notAuthorized,
                    "135, not authorized: check user and password, and the broker's ACL for this user and topic"
                )
            case 136, 137, 139: (.unavailable, "\(reason), it is busy or stops; it is tried again")
            case 138: (.notAuthorized, "138, banned: ask the broker's operator")
            case 141:
                (.unresponsive, "141, keep-alive timeout: nothing of this client reached it in time; check the network")
            case 142:
                (
                    .takenOver,
                    "142, session taken over: another client connected with the same client id. Each needs its own: "
                        + "check mqttUser and mqttName for a copied configuration"
                )
            case 143, 144:
                (
                    .topic,
                    "\(reason), topic not valid: check the prefix in the address, and the broker's limits of topics"
                )
            case 149:
                (.packetTooLarge, "149, packet too large: raise the broker's max_packet_size or message_size_limit")
            case 150, 151, 159: (.unavailable, "\(reason), a quota of the broker is used up; raise it or send less")
            case 154: (.notSupported, "154, it keeps no retained messages: switch them on at the broker")
            case 155: (.notSupported, "155, it does not take quality of service 1: allow it at the broker")
            case 158: (.notSupported, "158, it has no shared subscriptions: use a broker that has them")
            case 162: (.notSupported, "162, it has no wildcard subscriptions: allow them at the broker")
            case 152: (.connectionClosed, "152, an administrator closed it")
            default: (.other, "reason code \(reason) (MQTT 5.0, 2.4): look into the broker's log")
            }
        self.init(code, "\(what): \(words)")
    }

    /// - Parameters:
    ///   - result: of a function of libmosquitto.
    ///   - cause: errno after it.
    init(result: CInt, cause: CInt, peer: String, library: LibMosquitto) {
        switch result {
        case LibMosquittoNumber.connectionRefused:
            self.init(
                .connectionRefused, "the broker \(peer) refused the connection; check that it runs and listens there")
        case LibMosquittoNumber.connectionLost, LibMosquittoNumber.noConnection:
            self.init(.connectionClosed, "the broker \(peer) closed the connection")
        case LibMosquittoNumber.keepAlive:
            self.init(
                .unresponsive,
                "the broker \(peer) is unresponsive: it did not answer the keep-alive. Check the network; the broker's "
                    + "administrator may have to restart it")
        case LibMosquittoNumber.lookup:
            self.init(
                .nameResolution,
                "the name of the broker \(peer) was not resolved; check its spelling and the DNS servers")
        case LibMosquittoNumber.tls, LibMosquittoNumber.tlsHandshake:
            self.init(
                .tls,
                "no TLS connection to the broker \(peer): check host and port, its certificate, the file of "
                    + "authorities and this machine's clock")
        case LibMosquittoNumber.oversizePacket, LibMosquittoNumber.payloadSize:
            self.init(
                .packetTooLarge,
                "a message is larger than the broker \(peer) takes: raise its max_packet_size")
        case LibMosquittoNumber.retain:
            self.init(.notSupported, "the broker \(peer) keeps no retained messages: switch them on there")
        case LibMosquittoNumber.qualityOfService:
            self.init(.notSupported, "the broker \(peer) does not take quality of service 1: allow it there")
        case LibMosquittoNumber.protocolError, LibMosquittoNumber.malformedPacket:
            self.init(.other, "\(peer) does not speak MQTT 5 there: check host, port and the broker's version")
        case LibMosquittoNumber.errno: self.init(errno: cause, peer: peer)
        default:
            self.init(.other, "the broker \(peer): \(String(cString: library.call.errorText(result)))")
        }
    }

    private init(errno cause: CInt, peer: String) {
        switch cause {
        case ECONNREFUSED:
            self.init(
                .connectionRefused, "the broker \(peer) refused the connection; check that it runs and listens there")
        case ECONNRESET, EPIPE, ECONNABORTED:
            self.init(.connectionClosed, "the broker \(peer) reset the connection")
        case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH:
            self.init(
                .unresponsive,
                "the broker \(peer) is unresponsive (\(String(cString: strerror(cause)))); check address, route and "
                    + "firewalls")
        case EPROTO:
            self.init(
                .tls, "the TLS connection to the broker \(peer) broke: check its certificate and the versions of TLS")
        default:
            self.init(.other, "the connection to the broker \(peer) failed: \(String(cString: strerror(cause)))")
        }
    }
}

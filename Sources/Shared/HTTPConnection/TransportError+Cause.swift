import AsyncHTTPClient
import FoundationEssentials
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import WireModel

extension TransportError {
    /// Classifies a failure of the client by its cause. An unknown cause is `other`, with the name of its type.
    ///
    /// The text of an unknown cause is not shown: it may quote the request, and with it a token. Logs, beacons and
    /// `status` show the message.
    ///
    /// - Parameters:
    ///   - peer: host and port for the message.
    ///   - isProxied: connections are made to a proxy, so that a failure to connect is the proxy's.
    package init(cause: any Error, peer: String, isProxied: Bool) {
        self.init(cause: cause, peer: peer)
        if isProxied, Self.isOfConnecting(cause) { code = .proxy }
    }

    private static func isOfConnecting(_ cause: any Error) -> Bool {
        switch cause {
        case is NIOConnectionError, ChannelError.connectTimeout: true
        default: cause as? HTTPClientError == .connectTimeout
        }
    }

    private init(cause: any Error, peer: String) {
        switch cause {
        // What a caller of ours has refused, such as a server's key.
        case let error as TransportError: self = error
        case let error as NIOConnectionError: self.init(error, peer: peer)
        case let error as HTTPClientError: self.init(error, peer: peer)
        case let error as IOError: self.init(error, peer: peer)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is NIOSSLCloseTimedOutError:
            self.init(.tls, Self.words(ofTLS: "\(cause)", peer: peer))
        case ChannelError.connectTimeout:
            self.init(.timedOut, "connecting to \(peer) took too long; check the address, the route and firewalls")
        case let error as ChannelError where error == .eof || error == .ioOnClosedChannel || error == .alreadyClosed:
            self.init(.connectionClosed, "\(peer) closed the connection")
        case HTTPParserError.invalidEOFState:
            self.init(.connectionClosed, "\(peer) closed the connection in the middle of its answer")
        case let error as HTTPParserError:
            self.init(.other, "\(peer) does not speak HTTP/1.1 there: \(error)")
        case is CancellationError:
            self.init(.cancelled, "the request to \(peer) was cancelled")
        default:
            self.init(.other, "the request to \(peer) failed with \(type(of: cause))")
        }
    }

    /// BoringSSL's text names its source files. Its reasons are recognized by their names in that text.
    static func words(ofTLS cause: String, peer: String) -> String {
        let reasons: [(name: String, words: String)] = [
            (
                "CERTIFICATE_VERIFY_FAILED",
                "the certificate of \(peer) is not trusted: its issuer is none of the authorities trusted here, or it "
                    + "is not valid now. Give the issuer's certificate with --ca, and check this machine's clock"
            ),
            (
                "failedToValidateHostname",
                "the certificate of \(peer) is for another name: use the name it was issued for, or have one issued "
                    + "for this one"
            ),
            (
                "WRONG_VERSION_NUMBER",
                "\(peer) does not speak TLS there: check host and port, and whether the collector has a certificate "
                    + "(http:// or https://)"
            ),
            (
                "UNSUPPORTED_PROTOCOL",
                "\(peer) speaks no version of TLS that is used here: 1.2 or later is needed"
            ),
            (
                "ALERT_CERTIFICATE_REQUIRED",
                "\(peer) asks for a client certificate: give clientKey and clientRequest"
            ),
            (
                "ALERT_UNKNOWN_CA",
                "\(peer) does not trust the issuer of this device's client certificate"
            ),
            ("ALERT_CERTIFICATE_EXPIRED", "\(peer) says that this device's client certificate has ended"),
        ]
        if let reason = reasons.first(where: { cause.contains($0.name) }) { return reason.words }
        let code = cause.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/).map { " (\($0.1))" } ?? ""
        return
            "no TLS connection to \(peer)\(code): check its certificate, the file of authorities and this machine's "
            + "clock"
    }

    private init(_ error: NIOConnectionError, peer: String) {
        if let failure = error.connectionErrors.first {
            self.init(cause: failure.error, peer: peer)
        } else if let lookup = error.dnsAError ?? error.dnsAAAAError {
            self = .notResolved(peer, "\(lookup)")
        } else {
            self.init(.nameResolution, "the name of \(peer) has no address")
        }
    }

    /// - Parameter why: the resolver's words.
    static func notResolved(_ peer: String, _ why: String) -> TransportError {
        TransportError(
            .nameResolution, "the name of \(peer) was not resolved: \(why); check its spelling and the DNS servers")
    }

    private init(_ error: HTTPClientError, peer: String) {
        switch error {
        case .remoteConnectionClosed:
            self.init(.connectionClosed, "\(peer) closed the connection before its answer was whole")
        case .uncleanShutdown: self.init(.connectionClosed, "\(peer) closed the TLS connection without saying so")
        case .connectTimeout, .getConnectionFromPoolTimeout, .socksHandshakeTimeout, .tlsHandshakeTimeout:
            self.init(
                .timedOut, "connecting to \(peer) took too long (\(error)); check the address, the route and firewalls")
        case .deadlineExceeded, .readTimeout, .writeTimeout:
            self.init(.timedOut, "\(peer) did not answer in time")
        case .cancelled, .alreadyShutdown, .requestStreamCancelled:
            self.init(.cancelled, "the request to \(peer) was cancelled")
        case .invalidProxyResponse, .proxyAuthenticationRequired, .httpProxyHandshakeTimeout:
            self.init(.proxy, "\(peer) did not connect to the collector: \(error)")
        default:
            self.init(.other, "the request to \(peer) failed: \(error.shortDescription)")
        }
    }

    private init(_ error: IOError, peer: String) {
        switch error.errnoCode {
        case ECONNREFUSED:
            self.init(.connectionRefused, "\(peer) refused the connection; check that it runs and listens there")
        case ECONNRESET, EPIPE, ECONNABORTED: self.init(.connectionClosed, "\(peer) reset the connection")
        case ETIMEDOUT: self.init(.timedOut, "\(peer) did not answer in time")
        default: self.init(.other, "the connection to \(peer) failed: \(error)")
        }
    }
}

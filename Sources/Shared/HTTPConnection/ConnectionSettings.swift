import AsyncHTTPClient
import FoundationEssentials
import Glibc
import NIOCore
import NIOSSL
import TelemetryBasics
import WireModel

/// The known facts about a collector and the way to it.
package struct ConnectionSettings: Sendable {
    package var collector: EndpointURL
    /// PEM file of further trusted certificate authorities; `nil` for none.
    package var certificateAuthorityFile: String?
    /// Further trusted certificate authorities, each in DER.
    package var certificateAuthorities: [Data] = []
    /// Whether the system's certificate authorities are trusted, too, where others are given.
    package var trustsSystem = true
    /// PEM file of the key of the client certificate that a device may be given; `nil`: it shows none.
    package var clientKeyFile: String?
    /// An HTTP proxy; `nil` connects directly.
    package var proxy: EndpointURL?
    /// Whether plain HTTP may leave this machine. Anybody on the way can then read and change everything, including
    /// credentials.
    package var allowsPlaintext = false
    /// How long an unused connection stays open. It is longer than a short transmit interval, so such a device does not
    /// reconnect for each transmission. It is short enough that a device with long intervals occupies no connection at
    /// the collector in between.
    package var keepAlive: Duration = .seconds(75)
    /// Time limit for establishing a connection, including TLS.
    package var connectTimeout: Duration = .seconds(10)

    package init(collector: EndpointURL, certificateAuthorityFile: String? = nil, proxy: EndpointURL? = nil) {
        self.collector = collector
        self.certificateAuthorityFile = certificateAuthorityFile
        self.proxy = proxy
    }

    /// Uses the proxy that the environment names for this collector, unless one is set.
    /// - Throws: `invalidProxyURL` if the variable holds no address of an HTTP proxy.
    package mutating func applyProxy(from environment: ProxyEnvironment) throws(ConnectionSettingsError) {
        if proxy == nil { proxy = try environment.proxy(for: collector) }
    }

    /// Host and port in error messages: those of the proxy if there is one.
    package var peer: String { proxy.map { "proxy \($0.authority)" } ?? collector.authority }

    /// Checks what needs no connection: whether plain HTTP is permitted, and the file of authorities.
    package func check() throws(ConnectionSettingsError) { _ = try clientConfiguration() }

    /// HTTP/1.1 over TLS 1.2 or later, without redirects and without retries.
    /// - Throws: `plaintext` for plain HTTP beyond this machine that the settings do not allow.
    package func clientConfiguration() throws(ConnectionSettingsError) -> HTTPClient.Configuration {
        try checkPlaintext()
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try tls(),
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(connectTimeout)),
            connectionPool: .init(idleTimeout: TimeAmount(keepAlive)),
            proxy: proxy?.clientProxy,
            decompression: .disabled)
        configuration.httpVersion = .http1Only
        // Who sends decides on retries, by what failed; here a failure is reported at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// A proxy on another machine is beyond this machine, even if the collector is here. A proxy on this machine may
    /// forward to anywhere.
    package func checkPlaintext() throws(ConnectionSettingsError) {
        guard collector.scheme == .http, !allowsPlaintext else { return }
        let hops = [collector, proxy].compactMap { $0 }
        guard let hop = hops.first(where: { !$0.isLoopback }) else { return }
        let what = hop == collector ? "the collector \(collector)" : "the proxy \(hop) on the way to \(collector)"
        throw ConnectionSettingsError(
            .plaintext,
            "\(what) is on another machine, and plain http:// lets everybody in between read credentials and data. "
                + "Use https://; or allow it with --allow-plaintext (WS1_ALLOW_PLAINTEXT, allowPlaintext in the "
                + "agent's file, allowsPlaintext in a program) where the network itself is protected")
    }

    func tls() throws(ConnectionSettingsError) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuites = WireNames.cipherSuites
        trust(try givenAuthorities(), in: &tls)
        return tls
    }

    /// The configuration with more trusted certificate authorities, each in DER. One that cannot be read is left out:
    /// whoever takes them over checks them first with ``certificates(ofDER:)``.
    package func trusting(_ authorities: [Data], in configuration: HTTPClient.Configuration) -> HTTPClient.Configuration
    {
        guard var tls = configuration.tlsConfiguration else { return configuration }
        trust(authorities.compactMap { try? NIOSSLCertificate(bytes: Array($0), format: .der) }, in: &tls)
        var configuration = configuration
        configuration.tlsConfiguration = tls
        return configuration
    }

    private func trust(_ authorities: [NIOSSLCertificate], in tls: inout TLSConfiguration) {
        guard !authorities.isEmpty else { return }
        if case .certificates(let given)? = tls.trustRoots {
            tls.trustRoots = .certificates(given + authorities)
        } else if trustsSystem, Self.hasSystemAuthorities {
            tls.additionalTrustRoots.append(.certificates(authorities))
        } else {
            tls.trustRoots = .certificates(authorities)
        }
    }

    /// Reads certificates in DER.
    /// - Throws: `certificateAuthorities` for one that is none; with its place.
    @discardableResult
    package static func certificates(ofDER authorities: [Data]) throws(ConnectionSettingsError) -> [NIOSSLCertificate] {
        var certificates: [NIOSSLCertificate] = []
        for (place, authority) in authorities.enumerated() {
            do { certificates.append(try NIOSSLCertificate(bytes: Array(authority), format: .der)) } catch {
                throw ConnectionSettingsError(
                    .certificateAuthorities, "certificateAuthorities[\(place)] is no certificate in DER", cause: error)
            }
        }
        return certificates
    }

    /// A machine without any, such as a small container, makes the library fail that is asked to trust them.
    static var hasSystemAuthorities: Bool {
        let places: [String] = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs",
        ]
        return places.contains { access($0, F_OK) == 0 }
    }

    private func givenAuthorities() throws(ConnectionSettingsError) -> [NIOSSLCertificate] {
        var given: [NIOSSLCertificate] = []
        if let file = certificateAuthorityFile {
            do {
                given = try NIOSSLCertificate.fromPEMBytes(try PlainText.read(file))
                guard !given.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            } catch {
                throw ConnectionSettingsError(
                    .certificateAuthorities,
                    "no certificate could be read from \(file): it must exist, be readable and hold PEM certificates",
                    cause: error)
            }
        }
        return given + (try Self.certificates(ofDER: certificateAuthorities))
    }
}

extension EndpointURL {
    /// This address as the proxy of a client, with the name and password that it asks for.
    package var clientProxy: HTTPClient.Configuration.Proxy {
        .server(
            host: host, port: port,
            authorization: credentials.map { .basic(username: $0.user, password: $0.password) })
    }
}

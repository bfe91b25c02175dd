import NIOSSL

/// Where certificate, key and client authorities lie, and what is made of them: TLS 1.2 or later.
package struct TLSFiles: Equatable, Sendable {
    package var certificate: String
    package var key: String
    /// With it, a client without a certificate of one of these authorities is not served.
    package var clientCA: String?
    /// With it, a client may show a certificate of one of these authorities; one that shows none is served too.
    package var deviceCA: String?

    package init(certificate: String, key: String, clientCA: String? = nil, deviceCA: String? = nil) {
        self.deviceCA = deviceCA
        self.certificate = certificate
        self.key = key
        self.clientCA = clientCA
    }

    package func configuration() throws(CollectorError) -> TLSConfiguration {
        let chain = try load("--tls-certificate", certificate) { try NIOSSLCertificate.fromPEMFile(certificate) }
        let privateKey = try load("--tls-key", key) { try NIOSSLPrivateKey(file: key, format: .pem) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        var authorities: [NIOSSLCertificate] = []
        for (flag, file) in [("--client-ca", clientCA), ("--device-ca-certificate", deviceCA)] {
            if let file { authorities += try load(flag, file) { try NIOSSLCertificate.fromPEMFile(file) } }
        }
        if !authorities.isEmpty {
            configuration.trustRoots = .certificates(authorities)
            configuration.certificateVerification = clientCA == nil ? .optionalVerification : .noHostnameVerification
            // A browser asks its person for a certificate only where it has one of these.
            configuration.sendCANameList = true
        }
        // Fails where key and certificate do not belong together.
        _ = try load("--tls-key", key) { try NIOSSLContext(configuration: configuration) }
        return configuration
    }

    private func load<Value>(_ flag: String, _ path: String, _ body: () throws -> Value) throws(CollectorError) -> Value {
        do { return try body() } catch {
            throw CollectorError(.invalidConfiguration, "\(flag) \(path) cannot be used: \(error). Give a readable PEM file.", cause: error)
        }
    }
}

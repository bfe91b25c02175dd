import NIOSSL

/// Where certificate, key and client authorities lie, and what is made of them: TLS 1.2 or later.
package struct TLSFiles: Equatable, Sendable {
    package var certificate: String
    package var key: String
    /// With it, a client without a certificate of one of these authorities is not served.
    package var clientCA: String?

    package init(certificate: String, key: String, clientCA: String? = nil) {
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
        if let clientCA {
            let authorities = try load("--client-ca", clientCA) { try NIOSSLCertificate.fromPEMFile(clientCA) }
            configuration.trustRoots = .certificates(authorities)
            configuration.certificateVerification = .noHostnameVerification
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

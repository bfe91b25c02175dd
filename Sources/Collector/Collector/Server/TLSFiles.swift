import FoundationEssentials
import NIOSSL
import WireModel

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
        let privateKey = try loadKey()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuites = WireNames.cipherSuites
        // Fails where key and certificate do not belong together.
        do { _ = try NIOSSLContext(configuration: configuration) } catch {
            throw CollectorError(
                .invalidConfiguration,
                "--tls-key \(key) is not the key of --tls-certificate \(certificate). Give the certificate that was issued for this key first in "
                    + "its file, or the key that belongs to it.", cause: error)
        }
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
        return configuration
    }

    private func loadKey() throws(CollectorError) -> NIOSSLPrivateKey {
        let pem = try load("--tls-key", key) { try String(contentsOfFile: key, encoding: .utf8) }
        // "ENCRYPTED PRIVATE KEY" in PKCS #8, "Proc-Type: 4,ENCRYPTED" in the older form.
        guard !pem.contains("ENCRYPTED") else {
            throw CollectorError(
                .invalidConfiguration,
                "--tls-key \(key) is encrypted, and nobody is there to say its passphrase. Give it without: "
                    + "`openssl pkey -in \(key) -out plain.pem`, readable by the collector alone.")
        }
        do { return try NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem) } catch {
            throw CollectorError(.invalidConfiguration, "--tls-key \(key) holds no private key that can be read as PEM.", cause: error)
        }
    }

    private static let content = "it holds no PEM of what it should be"

    private func load<Value>(_ flag: String, _ path: String, _ body: () throws -> Value) throws(CollectorError) -> Value {
        do { return try body() } catch {
            throw CollectorError(
                .invalidConfiguration,
                "\(flag) \(path) cannot be used: \(FileFault(path).words(otherwise: Self.content)). Give a readable PEM file.", cause: error
            )
        }
    }
}

import CollectorAPI
import Foundation
import FoundationEssentials
import Logging
import NIOCertificateReloading
import NIOSSL
import Registry
import ServiceLifecycle
import Synchronization
import TelemetryBasics
import WireModel
import X509

/// The server's certificate and key from their files. The files are checked every minute, and at once on request. Open
/// connections keep the former certificate. A pair that cannot be used changes nothing and is logged. Other client
/// authorities require a restart.
///
/// Safe from any thread.
package final class ServerTLS: Service {
    private static let interval = Duration.seconds(60)

    package let configuration: TLSConfiguration
    private let reloader: TimedCertificateReloader
    private let current: Current

    /// The certificate in use, for logs and metrics.
    private final class Current: Sendable {
        let leaf = Mutex<WatchedCertificate?>(nil)
        let pin = Mutex<Data?>(nil)
        let root = Mutex<Data?>(nil)
        let shown: Mutex<CertificatesView.Server>

        init(_ files: TLSFiles) { shown = Mutex(CertificatesView.Server(files)) }
    }

    /// - Throws: `invalidConfiguration` if a file is unreadable, or key and certificate do not match.
    package init(_ files: TLSFiles, logger: Logger) throws(CollectorError) {
        let checked = try files.configuration()
        let current = Current(files)
        self.current = current
        let settings = TimedCertificateReloader.Configuration(
            refreshInterval: Self.interval,
            certificateSource: .init(
                location: .memory { Array(try PEMFile.certificates(files.certificate).utf8) }, format: .pem),
            privateKeySource: .init(location: .memory { Array(try PEMFile.privateKey(files.key).utf8) }, format: .pem)
        ) {
            $0.onCertificateLoaded = { change in
                guard let leaf = change.currentX509CertificateChain.first else { return }
                let watched = WatchedCertificate(
                    name: "tls-certificate \(files.certificate)", serial: Data(leaf.serialNumber.bytes).hexadecimal,
                    expires: Int64(leaf.notValidAfter.timeIntervalSince1970) * 1_000_000)
                current.leaf.withLock { $0 = watched }
                current.shown.withLock {
                    $0.chain = change.currentX509CertificateChain.map(CertificateView.init)
                    $0.failure = nil
                }
                // A key that cannot be encoded is one that no device could have checked.
                if let pin = try? KeyPin.of(leaf.publicKey) { current.pin.withLock { $0 = pin } }
                let root = KeyPin.root(of: change.currentX509CertificateChain)
                current.root.withLock { $0 = root }
                guard let former = change.previousX509CertificateChain, former != change.currentX509CertificateChain
                else { return }
                logger.notice(
                    "certificate reloaded",
                    metadata: ["tls.certificate": "\(files.certificate)", "tls.not.after": "\(leaf.notValidAfter)"])
            }
            $0.onCertificateLoadFailed = { failure in
                current.shown.withLock { $0.failure = "\(failure.error)" }
                logger.error(
                    "certificate not reloaded; the former one stays in use",
                    metadata: [
                        "tls.certificate": "\(files.certificate)", "tls.key": "\(files.key)",
                        "error": "\(failure.error)",
                    ])
            }
        }
        do {
            reloader = try .makeReloaderValidatingSources(configuration: settings)
            var configuration = checked
            configuration.setCertificateReloader(reloader)
            self.configuration = configuration
        } catch {
            throw CollectorError(
                .invalidConfiguration,
                "\(files.certificate) and \(files.key) cannot be used: \(error). Give a certificate and its key.",
                cause: error)
        }
    }

    /// When the certificate in use ends, in seconds since 1970.
    package var expiry: Double? { watched.map { Double($0.expires / 1_000_000) } }

    /// The certificate in use, for notices.
    package var watched: WatchedCertificate? { current.leaf.withLock { $0 } }

    /// The certificates for people who look at them.
    package var certificates: CertificatesView.Server { current.shown.withLock { $0 } }

    /// The pin of the key in use: SHA-256 of its subject public key info.
    package var pin: Data? { current.pin.withLock { $0 } }

    /// The root of the chain in use, in DER; `nil` if the certificate's file does not hold it.
    package var root: Data? { current.root.withLock { $0 } }

    /// Reads both files now.
    package func reload() {
        // A failure was logged.
        try? reloader.reload()
    }

    package func run() async throws { try await reloader.run() }
}

/// The files with certificate, key and client authorities, and the TLS settings: TLS 1.2 or later.
package struct TLSFiles: Equatable, Sendable {
    package var certificate: String
    package var key: String
    /// If set, a client must have a certificate of one of these authorities.
    package var clientCA: String?
    /// If set, a client may show a certificate of one of these authorities. A client without one is served too.
    package var deviceCA: String?

    package init(certificate: String, key: String, clientCA: String? = nil, deviceCA: String? = nil) {
        self.deviceCA = deviceCA
        self.certificate = certificate
        self.key = key
        self.clientCA = clientCA
    }

    package func configuration() throws(CollectorError) -> TLSConfiguration {
        let chain = try load("--tls-certificate", certificate) { try Self.certificates(certificate) }
        let privateKey = try loadKey()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuites = WireNames.cipherSuites
        // Throws if key and certificate do not match.
        do { _ = try NIOSSLContext(configuration: configuration) } catch {
            throw CollectorError(
                .invalidConfiguration,
                """
                --tls-key \(key) is not the key of --tls-certificate \(certificate). Give the certificate that was \
                issued for this key first in its file, or the key that belongs to it.
                """, cause: error)
        }
        var authorities: [NIOSSLCertificate] = []
        for (flag, file) in [("--client-ca", clientCA), ("--device-ca-certificate", deviceCA)] {
            if let file { authorities += try load(flag, file) { try Self.certificates(file) } }
        }
        if !authorities.isEmpty {
            configuration.trustRoots = .certificates(authorities)
            configuration.certificateVerification = clientCA == nil ? .optionalVerification : .noHostnameVerification
            // A browser asks its user for a certificate only if it has one of these.
            configuration.sendCANameList = true
        }
        return configuration
    }

    private func loadKey() throws(CollectorError) -> NIOSSLPrivateKey {
        let pem = try load("--tls-key", key) { try PEMFile.text(key) }
        // "ENCRYPTED PRIVATE KEY" in PKCS #8, "Proc-Type: 4,ENCRYPTED" in the older form.
        guard !pem.contains("ENCRYPTED") else {
            throw CollectorError(
                .invalidConfiguration,
                "--tls-key \(key) is encrypted, and the collector cannot ask for a passphrase. Decrypt it: "
                    + "`openssl pkey -in \(key) -out plain.pem`, readable by the collector alone.")
        }
        do { return try NIOSSLPrivateKey(bytes: Array(try PEMFile.privateKey(key).utf8), format: .pem) } catch {
            throw CollectorError(
                .invalidConfiguration, "--tls-key \(key) contains no readable private key in PEM.", cause: error)
        }
    }

    private static func certificates(_ path: String) throws -> [NIOSSLCertificate] {
        try NIOSSLCertificate.fromPEMBytes(Array(try PEMFile.certificates(path).utf8))
    }

    private static let content = "it does not contain the expected PEM"

    private func load<Value>(_ flag: String, _ path: String, _ body: () throws -> Value) throws(CollectorError) -> Value
    {
        do { return try body() } catch {
            throw CollectorError(
                .invalidConfiguration,
                """
                \(flag) \(path) cannot be used: \(FileFault(path).words(otherwise: Self.content)). Give a readable PEM \
                file.
                """,
                cause: error)
        }
    }
}

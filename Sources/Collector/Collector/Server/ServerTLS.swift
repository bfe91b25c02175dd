import CollectorStore
import Crypto
import Foundation
import Logging
import NIOCertificateReloading
import NIOSSL
import ServiceLifecycle
import SwiftASN1
import Synchronization
import WireModel
import X509

/// The server's certificate and key as they are in their files now: looked at every minute while it runs, and at once when told to. Connections
/// that are open keep theirs; a pair that cannot be used changes nothing and is logged. Other client authorities need a restart.
///
/// Safe from any thread.
package final class ServerTLS: Service {
    private static let interval = Duration.seconds(60)

    package let configuration: TLSConfiguration
    private let reloader: TimedCertificateReloader
    private let current: Current

    /// What is served, for logs and metrics.
    private final class Current: Sendable {
        let leaf = Mutex<WatchedCertificate?>(nil)
        let pin = Mutex<Data?>(nil)
    }

    /// - Throws: `invalidConfiguration` where a file cannot be read or key and certificate do not belong together.
    package init(_ files: TLSFiles, logger: Logger) throws(CollectorError) {
        let checked = try files.configuration()
        let current = Current()
        self.current = current
        let settings = TimedCertificateReloader.Configuration(
            refreshInterval: Self.interval, certificateSource: .init(location: .file(path: files.certificate), format: .pem),
            privateKeySource: .init(location: .file(path: files.key), format: .pem)
        ) {
            $0.onCertificateLoaded = { change in
                guard let leaf = change.currentX509CertificateChain.first else { return }
                let watched = WatchedCertificate(
                    name: "tls-certificate \(files.certificate)", serial: Data(leaf.serialNumber.bytes).hexadecimal,
                    expires: Int64(leaf.notValidAfter.timeIntervalSince1970) * 1_000_000)
                current.leaf.withLock { $0 = watched }
                // A key that cannot be written is one that no device could have checked.
                var key = DER.Serializer()
                if (try? key.serialize(leaf.publicKey)) != nil {
                    current.pin.withLock { $0 = Data(SHA256.hash(data: key.serializedBytes)) }
                }
                guard let former = change.previousX509CertificateChain, former != change.currentX509CertificateChain else { return }
                logger.notice(
                    "certificate reloaded", metadata: ["tls.certificate": "\(files.certificate)", "tls.not.after": "\(leaf.notValidAfter)"])
            }
            $0.onCertificateLoadFailed = { failure in
                logger.error(
                    "certificate not reloaded; the former one is served on",
                    metadata: ["tls.certificate": "\(files.certificate)", "tls.key": "\(files.key)", "error": "\(failure.error)"])
            }
        }
        do {
            reloader = try .makeReloaderValidatingSources(configuration: settings)
            var configuration = checked
            configuration.setCertificateReloader(reloader)
            self.configuration = configuration
        } catch {
            throw CollectorError(
                .invalidConfiguration, "\(files.certificate) and \(files.key) cannot be used: \(error). Give a certificate and its key.",
                cause: error)
        }
    }

    /// When the certificate that is served ends, seconds since 1970.
    package var expiry: Double? { watched.map { Double($0.expires / 1_000_000) } }

    /// The certificate that is served, for notices.
    package var watched: WatchedCertificate? { current.leaf.withLock { $0 } }

    /// The pin of the key that is served: SHA-256 of its subject public key info.
    package var pin: Data? { current.pin.withLock { $0 } }

    /// Reads both files now.
    package func reload() {
        // What fails has been logged.
        try? reloader.reload()
    }

    package func run() async throws { try await reloader.run() }
}

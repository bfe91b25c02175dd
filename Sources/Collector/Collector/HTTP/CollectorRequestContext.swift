import Hummingbird
import NIOCore
import NIOSSL

/// A request's context with its connection, for what only that knows.
package struct CollectorRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Where the connection comes from, as limits and log lines have it; `nil`: unknown.
    var peer: String? { PeerLimits.name(of: channel.remoteAddress) }

    /// The certificate that the client showed and the TLS library found good; `nil`: none, or a connection without TLS.
    func shownCertificate() async throws -> ShownCertificate? {
        let shown = try await channel.eventLoop.submit { [channel] in
            try (try? channel.pipeline.syncOperations.nioSSL_peerCertificate())?.toDERBytes()
        }.get()
        return shown.map { ShownCertificate(der: $0) }
    }
}

import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestKit

/// A server on loopback that answers each request with the next script, byte by byte as asked: what no well-behaved
/// server would do.
package final class ScriptedServer: Sendable {
    package enum Step: Sendable {
        case send(String)
        case close
        case reset
    }

    private struct State {
        var scripts: [[Step]]
        var connections = 0
        var requests: [String] = []
    }

    private let state: Mutex<State>
    private let channel: any Channel

    package var port: Int { channel.localAddress?.port ?? 0 }
    package var connections: Int { state.withLock { $0.connections } }
    /// What came, request by request, as it came.
    package var requests: [String] { state.withLock { $0.requests } }

    private init(state: consuming Mutex<State>, channel: any Channel) {
        self.state = state
        self.channel = channel
    }

    /// Runs the server while `body` runs. A request beyond the scripts, or an empty script, is never answered.
    /// - Parameter certificate: serves TLS with it.
    package static func serving(
        _ scripts: [[Step]], certificate: ServerCertificates.Server? = nil,
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let box = Box()
        let tls = try certificate.map { try NIOSSLContext(configuration: $0.configuration) }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    box.server.withLock { $0 }?.state.withLock { $0.connections += 1 }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(Handler(box: box))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = ScriptedServer(state: Mutex(State(scripts: scripts)), channel: channel)
        box.server.withLock { $0 = server }
        do {
            try await body(server)
        } catch {
            try await server.stop(box)
            throw error
        }
        try await server.stop(box)
    }

    private func stop(_ box: Box) async throws {
        box.server.withLock { $0 = nil }
        try await channel.close()
    }

    fileprivate func script(for request: String) -> [Step] {
        state.withLock { state in
            state.requests.append(request)
            return state.scripts.isEmpty ? [] : state.scripts.removeFirst()
        }
    }

    fileprivate final class Box: Sendable {
        let server = Mutex<ScriptedServer?>(nil)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let box: Box
        private var received = ""

        init(box: Box) { self.box = box }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var buffer = unwrapInboundIn(data)
            received += buffer.readString(length: buffer.readableBytes) ?? ""
            // A TLS handshake starts with the byte 22.
            guard Self.isWhole(received) || received.utf8.first == 22 else { return }
            let steps = box.server.withLock { $0 }?.script(for: received) ?? []
            received = ""
            for step in steps { perform(step, context) }
        }

        /// A body has a length, and is text, or it is one of POST that is marked by its end.
        private static func isWhole(_ request: String) -> Bool {
            if request.hasPrefix("POST"), request.hasSuffix("<end>") { return true }
            guard let end = request.firstRange(of: "\r\n\r\n") else { return false }
            let length = request[..<end.lowerBound].firstMatch(of: /content-length: ([0-9]+)/.ignoresCase())
            guard let bytes = length.flatMap({ Int($0.1) }) else { return !request.hasPrefix("POST") }
            return request[end.upperBound...].utf8.count >= bytes
        }

        private func perform(_ step: Step, _ context: ChannelHandlerContext) {
            switch step {
            case .send(let text): context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            case .close: context.close(promise: nil)
            case .reset:
                // With a linger of zero a close is a reset.
                let options = context.channel as? any SocketOptionProvider
                _ = options?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                context.close(promise: nil)
            }
        }
    }
}

extension ServerCertificates.Server {
    fileprivate var configuration: TLSConfiguration {
        get throws {
            .makeServerConfiguration(
                certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))],
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
        }
    }
}

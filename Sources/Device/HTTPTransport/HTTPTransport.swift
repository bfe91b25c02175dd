import AsyncHTTPClient
import FoundationEssentials
import HTTPConnection
import NIOCore
import NIOPosix
import Synchronization
import Transmitter
import WireModel

/// The device's transport over HTTP/1.1: one event loop thread, kept-alive connections, pins, authorities, client
/// certificates.
///
/// Safe to use from any task. `shutdown()` must be called once, last.
package final class HTTPTransport: Transport {
    private let settings: ConnectionSettings
    /// The configuration with the authorities of the settings alone.
    private let configuration: HTTPClient.Configuration
    private let group: MultiThreadedEventLoopGroup
    let state: Mutex<State>

    private var isTLS: Bool { settings.collector.scheme == .https }

    /// The key that the server showed on a client's newest connection.
    final class ShownKey: Sendable {
        let key = Mutex<Data?>(nil)
    }

    struct State {
        var pins = PinSet()
        var shown = ShownKey()
        var identity: ClientIdentity?
        /// The authorities, in DER, that are trusted beside those of the settings.
        var authorities: [Data] = []
        var connection: HTTPConnection
        /// Ends when all former clients have shut down; `nil`: there were none.
        var ending: Task<Void, Never>?
        var isShutDown = false
    }

    /// Sends nothing before the first request.
    ///
    /// - Throws: `plaintext` for plain HTTP beyond this machine that the settings do not allow.
    package init(_ settings: ConnectionSettings) throws(ConnectionSettingsError) {
        self.settings = settings
        configuration = try settings.clientConfiguration()
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let shown = ShownKey()
        state = Mutex(
            State(
                shown: shown, connection: Self.connection(settings, configuration, PinSet(), nil, shown, on: group)))
    }

    private static func connection(
        _ settings: ConnectionSettings, _ configuration: HTTPClient.Configuration, _ pins: PinSet,
        _ identity: ClientIdentity?, _ shown: ShownKey, on group: MultiThreadedEventLoopGroup
    ) -> HTTPConnection {
        var configuration = configuration
        if let identity, var tls = configuration.tlsConfiguration {
            identity.apply(to: &tls)
            configuration.tlsConfiguration = tls
        }
        if settings.collector.scheme == .https {
            let peer = settings.peer
            // Called for every new connection after its handshake and before its first request. This is where a key is
            // refused.
            configuration.http1_1ConnectionDebugInitializer = { channel in
                do {
                    let key = try pins.check(channel, peer: peer)
                    shown.key.withLock { $0 = key }
                    return channel.eventLoop.makeSucceededVoidFuture()
                } catch {
                    channel.close(promise: nil)
                    return channel.eventLoop.makeFailedFuture(error)
                }
            }
        }
        return HTTPConnection(settings, configuration, on: group)
    }

    package var serverKey: Data? { state.withLock(\.shown).key.withLock { $0 } }

    /// Closes connections made under other pins. A request on one of them fails as if the connection broke.
    ///
    /// Plain `http` has no certificate to pin. The configuration of this machine permitted it, and nobody on the way
    /// can make a device fall back to it.
    package func pin(to pins: [Data]) {
        guard isTLS else { return }
        let pins = PinSet(pins)
        state.withLock { state in
            guard !state.isShutDown, state.pins != pins else { return }
            state.pins = pins
            replaceConnection(&state)
        }
    }

    /// Closes connections made under another set, as `pin` does: an authority that is dropped vouches for none of them.
    package func trust(_ authorities: [Data]) {
        guard isTLS else { return }
        state.withLock { state in
            guard !state.isShutDown, state.authorities != authorities else { return }
            state.authorities = authorities
            replaceConnection(&state)
        }
    }

    /// Like `pin`, closes connections that showed another certificate or none.
    package func show(certificate chain: String?) throws(TransportError) -> CertificateLife? {
        guard isTLS else { return nil }
        let made: Result<ClientIdentity?, TransportError>
        do throws(TransportError) {
            made = .success(
                try chain.map { chain throws(TransportError) in
                    try ClientIdentity(chain: chain, keyFile: settings.clientKeyFile)
                })
        } catch { made = .failure(error) }
        let identity = (try? made.get()) ?? nil
        state.withLock { state in
            guard !state.isShutDown, state.identity?.chain != identity?.chain else { return }
            state.identity = identity
            replaceConnection(&state)
        }
        return try made.get()?.life
    }

    private func replaceConnection(_ state: inout State) {
        let former = state.connection
        // The former client may still make connections. Their keys do not count for the new pins.
        state.shown = ShownKey()
        let trusting = settings.trusting(state.authorities, in: configuration)
        state.connection = Self.connection(settings, trusting, state.pins, state.identity, state.shown, on: group)
        // It ends on its own; shutdown waits for it, so that the thread outlives it.
        let earlier = state.ending
        state.ending = Task {
            await former.shutdown()
            await earlier?.value
        }
    }

    /// Closes the connections and ends the thread. Requests still running end with an error.
    package func shutdown() async {
        let (connection, ending) = state.withLock { state in
            state.isShutDown = true
            return (state.connection, state.ending)
        }
        await ending?.value
        await connection.shutdown()
        // Fails only where it was shut down before, and then there is nothing left to do.
        try? await group.shutdownGracefully()
    }

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        try await state.withLock(\.connection).send(request)
    }
}

import Synchronization

/// Hands notices to whoever listens. Never blocks and never grows: each listener has a bounded buffer that leaves out the oldest.
final class NoticeBoard: Sendable {
    /// Per listener.
    static let bufferedNotices = 64

    private struct State {
        var listeners: [UInt64: AsyncStream<DataSamplerNotice>.Continuation] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// What is posted from now on; ends when nobody holds the stream's iterator any more, or at `finish`.
    func listen() -> AsyncStream<DataSamplerNotice> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: DataSamplerNotice.self, bufferingPolicy: .bufferingNewest(Self.bufferedNotices))
        let listener = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in self?.forget(listener) }
        return stream
    }

    func post(_ notice: DataSamplerNotice) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(notice) }
    }

    private func forget(_ listener: UInt64) { state.withLock { $0.listeners[listener] = nil } }
}

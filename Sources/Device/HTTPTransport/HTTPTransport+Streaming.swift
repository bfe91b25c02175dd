import AsyncHTTPClient
import NIOCore
import Synchronization
import Transmitter

extension HTTPTransport {
    /// Since when the network is waited for; `nil` while it is not.
    private final class Waiting: Sendable {
        let since = Mutex<ContinuousClock.Instant?>(nil)

        func begin() { since.withLock { $0 = .now } }
        func end() { since.withLock { $0 = nil } }
        var duration: Duration { since.withLock { $0.map { $0.duration(to: .now) } } ?? .zero }
    }

    /// Why the receiver wants no more.
    private struct ReceiverFailure: Error {
        var cause: any Error
    }

    /// Like `send`, but a body that is wanted is handed over as it comes, and may be of any length.
    ///
    /// The head must come within `request.timeout`. Then only silence of the network counts: what the receiver takes its time with, such as a
    /// person reading a page of it, does not.
    /// - Parameters:
    ///   - silence: how long nothing may come inside the body.
    ///   - isWanted: told status and headers; an answer that is not wanted comes whole, as from `send`.
    ///   - receive: called with each piece, one at a time. What it throws ends the request and is thrown on.
    /// - Returns: the answer; without its body where that was handed over, which it was whole then.
    /// - Throws: `TransportError`, or what `receive` threw.
    package func stream(
        _ request: TransportRequest, silence: Duration, isWanted: @escaping @Sendable (TransportResponse) -> Bool,
        receive: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> TransportResponse {
        // Handed to one child task, and not used elsewhere until that has ended.
        nonisolated(unsafe) let receive = receive
        let waiting = Waiting()
        return try await withThrowingTaskGroup(of: TransportResponse.self) { group in
            group.addTask { try await self.exchange(request, waiting, isWanted, receive) }
            group.addTask {
                while true {
                    let left = silence - waiting.duration
                    guard left > .zero else {
                        throw TransportError(
                            .timedOut, "\(self.peer) sent nothing for \(silence) in the middle of its answer to \(request.path)")
                    }
                    try await Task.sleep(for: left)
                }
            }
            defer { group.cancelAll() }
            do {
                guard let answer = try await group.next() else { throw CancellationError() }
                return answer
            } catch let error as TransportError {
                throw error
            } catch let error as ReceiverFailure {
                throw error.cause
            } catch {
                throw TransportError(cause: error, peer: peer)
            }
        }
    }

    private func exchange(
        _ request: TransportRequest, _ waiting: Waiting, _ isWanted: (TransportResponse) -> Bool,
        _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> TransportResponse {
        let response = try await state.withLock(\.client).execute(message(of: request), deadline: .now() + TimeAmount(request.timeout))
        let head = head(of: response)
        guard isWanted(head) else { return try await read(response, request) }
        waiting.begin()
        for try await piece in response.body {
            waiting.end()
            do { try piece.withUnsafeReadableBytes(receive) } catch { throw ReceiverFailure(cause: error) }
            waiting.begin()
        }
        // A cancelled sequence may end as if the body did.
        try Task.checkCancellation()
        return head
    }
}

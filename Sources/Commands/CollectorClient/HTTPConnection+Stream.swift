import AsyncHTTPClient
import FoundationEssentials
import HTTPConnection
import NIOCore
import Synchronization
import WireModel

extension HTTPConnection {
    /// When the wait for the network began; `nil` while nobody waits.
    private final class Waiting: Sendable {
        let since = Mutex<ContinuousClock.Instant?>(nil)

        func begin() { since.withLock { $0 = .now } }
        func end() { since.withLock { $0 = nil } }
        var duration: Duration { since.withLock { $0.map { $0.duration(to: .now) } } ?? .zero }
    }

    /// The receiver's error.
    private struct ReceiverFailure: Error {
        var cause: any Error
    }

    /// Like `send`, but hands a wanted body over piece by piece, and the body may have any length.
    ///
    /// The head must arrive within `request.timeout`. After that only silence of the network counts. The time that the
    /// receiver needs, such as a person who reads, does not count.
    /// - Parameters:
    ///   - silence: the longest silence inside the body.
    ///   - isWanted: receives status and headers. An unwanted answer is returned whole, as by `send`.
    ///   - receive: called with each piece, one at a time. Its error ends the request and is rethrown.
    /// - Returns: the answer, without the body if it was handed over completely.
    /// - Throws: `TransportError`, or what `receive` threw.
    func stream(
        _ request: TransportRequest, silence: Duration, isWanted: @escaping @Sendable (TransportResponse) -> Bool,
        receive: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> TransportResponse {
        // One child task uses it, and nobody else until that task has ended.
        nonisolated(unsafe) let receive = receive
        let waiting = Waiting()
        return try await withThrowingTaskGroup(of: TransportResponse.self) { group in
            group.addTask {
                let response = try await head(request)
                let answer = TransportResponse(head: response)
                guard isWanted(answer) else { return try await read(response, request) }
                waiting.begin()
                for try await piece in response.body {
                    waiting.end()
                    do { try piece.withUnsafeReadableBytes(receive) } catch { throw ReceiverFailure(cause: error) }
                    waiting.begin()
                }
                // A cancelled sequence may end as if the body had ended.
                try Task.checkCancellation()
                return answer
            }
            group.addTask {
                while true {
                    let left = silence - waiting.duration
                    guard left > .zero else {
                        throw TransportError(
                            .timedOut,
                            "\(peer) sent nothing for \(silence) in the middle of its answer to \(request.path)")
                    }
                    try await Task.sleep(for: left)
                }
            }
            defer { group.cancelAll() }
            do {
                guard let answer = try await group.next() else { throw CancellationError() }
                return answer
            } catch let error as ReceiverFailure {
                throw error.cause
            } catch {
                throw TransportError(cause: error, peer: peer, isProxied: isProxied)
            }
        }
    }
}

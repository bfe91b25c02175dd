import FoundationEssentials
import NIOCore
import Synchronization
import WireModel

/// The body of one request in parts, between the broker's messages and the route that reads it.
///
/// The route reads the first part once the sender and its limits are checked. If it wants more, the device is asked for
/// the rest. So no part is sent in vain, and a body counts against the same budget as one over HTTP.
///
/// Safe from any task. One task reads.
final class PartInbox: Sendable {
    private enum Phase {
        case open
        /// All parts are here.
        case complete
        case failed(any Error)
    }

    private struct State {
        var sequence: PartSequence
        var parts: [ByteBuffer] = []
        var phase = Phase.open
        var reads = 0
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
    }

    private let state: Mutex<State>
    private let memory: PartMemory
    private let goOn: @Sendable () async -> Void

    /// - Parameters:
    ///   - first: the first part.
    ///   - memory: counts the parts that were not read yet.
    ///   - goOn: asks the device for the further parts.
    init(_ sequence: PartSequence, memory: PartMemory, goOn: @escaping @Sendable () async -> Void) {
        state = Mutex(State(sequence: sequence))
        self.memory = memory
        self.goOn = goOn
    }

    /// Takes a part. What does not fit ends the body with a problem, which becomes the answer.
    /// - Returns: `false` once the body has ended, so that the part is of no use.
    @discardableResult
    func put(_ number: Int, of count: Int, _ part: ByteBuffer) -> Bool {
        let (isOpen, resume) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard case .open = state.phase else { return (false, nil) }
            switch state.sequence.take(number, of: count, part) {
            case .repeated: return (true, nil)
            case .broken(let reason): return (true, Self.fail(&state, Problem.partsBroken(reason), memory))
            case let step:
                if step == .complete { state.phase = .complete }
                if let reader = state.reader {
                    state.reader = nil
                    return (true, { reader.resume(returning: part) })
                }
                guard memory.take(part.readableBytes) else {
                    return (true, Self.fail(&state, Problem.partsWithoutRoom, memory))
                }
                state.parts.append(part)
                return (true, nil)
            }
        }
        resume?()
        return isOpen
    }

    /// Ends the body: what is not read yet is forgotten, and a reader gets the error.
    func fail(_ error: any Error) {
        let resume = state.withLock { Self.fail(&$0, error, memory) }
        resume?()
    }

    private static func fail(_ state: inout State, _ error: any Error, _ memory: PartMemory) -> (@Sendable () -> Void)?
    {
        memory.giveBack(state.parts.reduce(0) { $0 + $1.readableBytes })
        state.parts = []
        // A complete body that nobody has read to its end fails, too: its request is over.
        state.phase = .failed(error)
        guard let reader = state.reader else { return nil }
        state.reader = nil
        return { reader.resume(throwing: error) }
    }

    fileprivate func next() async throws -> ByteBuffer? {
        let isSecond = state.withLock { state in
            state.reads += 1
            return state.reads == 2
        }
        if isSecond { await goOn() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<ByteBuffer?, any Error>? = state.withLock { state in
                    if !state.parts.isEmpty {
                        let part = state.parts.removeFirst()
                        memory.giveBack(part.readableBytes)
                        return .success(part)
                    }
                    switch state.phase {
                    case .complete: return .success(nil)
                    case .failed(let error): return .failure(error)
                    case .open:
                        state.reader = continuation
                        return nil
                    }
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            fail(CancellationError())
        }
    }

    /// The body as a route reads it.
    struct Body: AsyncSequence, Sendable {
        let inbox: PartInbox

        struct AsyncIterator: AsyncIteratorProtocol {
            let inbox: PartInbox

            mutating func next() async throws -> ByteBuffer? { try await inbox.next() }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(inbox: inbox) }
    }

    var body: Body { Body(inbox: self) }
}

/// Counts the bytes of all parts that wait to be read. Safe from any thread.
final class PartMemory: Sendable {
    let limit: Int
    private let used = Mutex(0)

    init(limit: Int) { self.limit = limit }

    var bytes: Int { used.withLock { $0 } }

    /// - Returns: `false` if there is no room; then nothing is counted.
    func take(_ count: Int) -> Bool {
        used.withLock { used in
            guard count <= limit - used else { return false }
            used += count
            return true
        }
    }

    func giveBack(_ count: Int) { used.withLock { $0 -= count } }
}

extension Problem {
    /// The parts of a request do not fit together, or the collector does not know the request.
    static func partsBroken(_ reason: String) -> Problem {
        Problem(
            status: 408, code: .partsBroken, title: "Parts broken",
            detail: "The request in parts cannot go on: \(reason). Send the whole request again.",
            retryable: true, scope: .stream, retryAfterMs: 1000)
    }

    static let partsWithoutRoom = Problem(
        status: 503, code: .busy, title: "Too many parts",
        detail: "The collector holds as many parts of requests as it can. Send the request again later.",
        retryable: true, retryAfterMs: 5000)
}

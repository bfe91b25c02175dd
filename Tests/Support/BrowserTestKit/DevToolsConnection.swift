import Dispatch
import Foundation
import Glibc
import JSON
import Synchronization

/// An event that the browser reports unasked.
struct DevToolsEvent: Sendable {
    let method: String
    let parameters: JSONValue
    /// The page, frame or worker it comes from; `nil`: the browser itself.
    let session: String?
}

/// A connection over which the browser accepts commands and reports events: JSON objects, each followed by a zero byte.
/// One thread reads, another writes. Thread-safe.
final class DevToolsConnection: Sendable {
    enum Delivery: Sendable {
        case event(DevToolsEvent)
        case ended(BrowserError)
    }

    typealias Handler = @Sendable (Delivery) -> Void

    private struct State {
        var lastID = 0
        var pending: [Int: Pending] = [:]
        var handlers: [String: (hearsBrowser: Bool, handler: Handler)] = [:]
        var outgoing: [Data] = []
        var ending: BrowserError?
    }

    private struct Pending {
        let method: String
        let session: String?
        let answer: Arrival<JSONValue>
    }

    private struct Command: Encodable {
        let id: Int
        let method: String
        let params: JSONValue
        let sessionId: String?
    }

    private let state = Mutex(State())
    private let socket: Int32
    private let hasOutgoing = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - socket: closed by the connection after its end.
    ///   - explanation: why the browser has ended; asked once, on a thread that may block.
    init(socket: Int32, explanation: @escaping @Sendable () -> String) {
        self.socket = socket
        Thread.detachNewThread { [self] in
            readAll()
            end(BrowserError(.ended, "the browser has ended: \(explanation())"))
        }
        Thread.detachNewThread { [self] in
            writeAll()
            close(socket)
        }
    }

    /// Why it has ended; `nil` while it runs.
    var ending: BrowserError? { state.withLock { $0.ending } }

    /// The browser sees the end of its commands, and ends.
    func hangUp() {
        // After the end the number may belong to another file.
        state.withLock { if $0.ending == nil { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    /// - Parameter session: the page, frame or worker; `nil`: the browser itself.
    /// - Returns: the result. It is an empty object for most commands.
    func call(
        _ method: String, _ parameters: JSONValue = [:], session: String? = nil, within limit: Duration = .seconds(60)
    ) async throws -> JSONValue {
        let answer = Arrival<JSONValue>()
        let id = send(method, parameters, session, answer)
        defer { state.withLock { _ = $0.pending.removeValue(forKey: id) } }
        return try await answer.value(within: limit) {
            .timedOut(limit, waitingFor: "the browser's answer to \(method)")
        }
    }

    /// Sends a command without waiting; its answer is dropped.
    func post(_ method: String, _ parameters: JSONValue = [:], session: String? = nil) {
        _ = send(method, parameters, session, nil)
    }

    /// - Parameters:
    ///   - hearsBrowser: whether the handler also gets the events of the browser itself.
    ///   - handler: called on the connection's thread, event by event, in the order in which the browser reported them.
    func subscribe(_ session: String, hearsBrowser: Bool, _ handler: @escaping Handler) {
        let ending = state.withLock { state in
            state.handlers[session] = (hearsBrowser, handler)
            return state.ending
        }
        if let ending { handler(.ended(ending)) }
    }

    /// Commands to a session that cannot answer any more fail at once.
    func abandonCommands(to session: String, _ error: BrowserError) {
        let pending = state.withLock { $0.pending.values.filter { $0.session == session } }
        for pending in pending { pending.answer.settle(.failure(error)) }
    }

    func unsubscribe(_ session: String) {
        state.withLock { _ = $0.handlers.removeValue(forKey: session) }
    }

    private func send(_ method: String, _ parameters: JSONValue, _ session: String?, _ answer: Arrival<JSONValue>?)
        -> Int
    {
        let (id, ending) = state.withLock { state in
            state.lastID += 1
            if state.ending == nil, let answer {
                state.pending[state.lastID] = Pending(method: method, session: session, answer: answer)
            }
            return (state.lastID, state.ending)
        }
        if let ending {
            answer?.settle(.failure(ending))
            return id
        }
        let command = Command(id: id, method: method, params: parameters, sessionId: session)
        do {
            let message = try JSONEncoder().encode(command) + [0]
            state.withLock { $0.outgoing.append(message) }
            hasOutgoing.signal()
        } catch {
            answer?.settle(.failure(error))
        }
        return id
    }

    private func writeAll() {
        while true {
            hasOutgoing.wait()
            let (message, isEnded) = state.withLock { state in
                (state.outgoing.isEmpty ? nil : state.outgoing.removeFirst(), state.ending != nil)
            }
            if isEnded { return }
            message?.withUnsafeBytes { bytes in
                var sent = 0
                while sent < bytes.count {
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                    let count = Glibc.send(socket, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                    // If the browser is gone, the reader says so.
                    guard count > 0 || errno == EINTR else { return }
                    sent += max(count, 0)
                }
            }
        }
    }

    private func readAll() {
        var received = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(socket, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            let parts = buffer[..<count].split(separator: 0, omittingEmptySubsequences: false)
            for part in parts.dropLast() {
                received.append(contentsOf: part)
                receive(received)
                received.removeAll(keepingCapacity: true)
            }
            if let rest = parts.last { received.append(contentsOf: rest) }
        }
    }

    private func receive(_ message: Data) {
        guard let message = try? JSONValue(message: message) else { return }
        if let id = message["id"].integer {
            guard let pending = state.withLock({ $0.pending.removeValue(forKey: id) }) else { return }
            let error = message["error"]
            if error != .null {
                let words = [error["message"].text, error["data"].text].compactMap { $0 }.joined(separator: ": ")
                pending.answer.settle(
                    .failure(BrowserError(.refused, "the browser refused \(pending.method): \(words)")))
            } else {
                pending.answer.settle(.success(message["result"]))
            }
        } else if let method = message["method"].text {
            let event = DevToolsEvent(
                method: method, parameters: message["params"], session: message["sessionId"].text)
            let handlers = state.withLock { state in
                event.session.map { [state.handlers[$0]].compactMap { $0 } }
                    ?? state.handlers.values.filter(\.hearsBrowser)
            }
            for (_, handler) in handlers { handler(.event(event)) }
        }
    }

    private func end(_ error: BrowserError) {
        let (pending, handlers) = state.withLock { state in
            state.ending = error
            defer { state.pending = [:] }
            return (state.pending.values.map(\.answer), state.handlers.values.map(\.handler))
        }
        for answer in pending { answer.settle(.failure(error)) }
        for handler in handlers { handler(.ended(error)) }
        hasOutgoing.signal()
    }
}

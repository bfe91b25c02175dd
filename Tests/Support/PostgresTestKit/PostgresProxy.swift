import Foundation
import Synchronization

/// A TCP proxy on the loopback interface before a server. It can cut connections or hold them back at a chosen moment.
///
/// It looks for statements of the simple protocol, such as `COMMIT`, in what the client sends. TLS must be off.
package final class PostgresProxy: Sendable {
    /// What happens when a client sends a chosen statement.
    package enum Fault: Sendable {
        /// The server never sees the statement; both connections are cut.
        case cutBefore
        /// The server carries it out; its answer is swallowed, and then the connections are cut.
        case cutAfterAnswer
        /// The server carries it out; its answer never arrives, and the connections stay open.
        case holdAnswer
    }

    package let port: Int
    private let listener: Int32
    private let target: Int
    private let state = Mutex(State())

    private struct State {
        var fault: (statement: [UInt8], kind: Fault)?
        var faultCount = 0
        var isHoldingAll = false
        var isClosed = false
        var pairs: [Pair] = []
    }

    /// A client's connection and the one to the server.
    fileprivate final class Pair: Sendable {
        let client: Int32
        let server: Int32
        /// Answers are swallowed from now on.
        let isIntercepted = Mutex<Fault?>(nil)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }

        /// Wakes both directions, which then end.
        func cut() {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }

        deinit {
            close(client)
            close(server)
        }
    }

    package init(to server: PostgresServer) throws {
        target = server.port
        (listener, port) = try LoopbackPort.listen(backlog: 64)
        let listener = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                guard let self else {
                    close(client)
                    break
                }
                self.adopt(client)
            }
            close(listener)
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        cutAll()
    }

    /// Makes the fault happen the next time that any client sends the statement.
    package func onStatement(_ statement: String, _ fault: Fault) {
        state.withLock { $0.fault = (Array(statement.utf8) + [0], fault) }
    }

    /// How many faults have happened.
    package var faultCount: Int { state.withLock { $0.faultCount } }

    /// Cuts all connections. New ones are possible.
    package func cutAll() {
        let pairs = state.withLock { state in
            defer { state.pairs = [] }
            return state.pairs
        }
        for pair in pairs { pair.cut() }
    }

    /// Passes nothing on any more, in no direction and on no connection, until ``cutAll()``.
    package func holdAll() { state.withLock { $0.isHoldingAll = true } }

    /// New connections pass again.
    package func letGo() { state.withLock { $0.isHoldingAll = false } }

    package var connectionCount: Int { state.withLock { $0.pairs.count } }

    private func adopt(_ client: Int32) {
        guard let server = try? LoopbackPort.connect(port: target) else {
            close(client)
            return
        }
        let pair = Pair(client: client, server: server)
        state.withLock { $0.pairs.append(pair) }
        Thread.detachNewThread { [weak self] in
            Self.copy(from: pair.client, to: pair.server) { bytes in
                guard let self else { return nil }
                return self.request(bytes, pair)
            }
            pair.cut()
            self?.state.withLock { $0.pairs.removeAll { $0 === pair } }
        }
        Thread.detachNewThread { [weak self] in
            Self.copy(from: pair.server, to: pair.client) { _ in
                guard let self else { return nil }
                return self.answer(pair)
            }
            pair.cut()
        }
    }

    /// - Parameter passes: `nil` ends the copy, false swallows the bytes.
    private static func copy(from: Int32, to: Int32, _ passes: (ArraySlice<UInt8>) -> Bool?) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0, let passed = passes(buffer[..<count]) else { return }
            var sent = 0
            while passed, sent < count {
                let written = buffer.withUnsafeBytes {
                    send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { return }
                sent += written
            }
        }
    }

    private func request(_ bytes: ArraySlice<UInt8>, _ pair: Pair) -> Bool? {
        state.withLock { state in
            if state.isHoldingAll { return false }
            guard let fault = state.fault, bytes.contains(fault.statement) else { return true }
            state.fault = nil
            state.faultCount += 1
            if case .cutBefore = fault.kind { return nil }
            pair.isIntercepted.withLock { $0 = fault.kind }
            return true
        }
    }

    private func answer(_ pair: Pair) -> Bool? {
        if state.withLock({ $0.isHoldingAll }) { return false }
        switch pair.isIntercepted.withLock({ $0 }) {
        case .cutAfterAnswer: return nil
        case .holdAnswer: return false
        default: return true
        }
    }
}

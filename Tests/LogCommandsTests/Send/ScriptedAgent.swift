import ControlSocket
import Foundation
import Glibc
import Synchronization
import WireModel

/// A control socket in a data directory that answers by a script, on a thread of its own; what it was asked is kept. It
/// goes with its last reference.
final class ScriptedAgent: Sendable {
    enum Answer: Sendable {
        case answer(WireControlAnswer)
        /// The connection is closed without one.
        case silence
    }

    private let descriptor: Int32
    private let path: String
    private let asked = Mutex<[WireControlRequest]>([])

    var requests: [WireControlRequest] { asked.withLock { $0 } }

    /// - Parameter script: gets a request and how many came before.
    init(_ directory: String, script: @escaping @Sendable (WireControlRequest, Int) -> Answer) throws {
        let path = "\(directory)/\(ControlSocketPath.name)"
        self.path = path
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(listener, 8) == 0 else { throw POSIXError(.EADDRINUSE) }
        descriptor = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                if let request = Self.request(connection), let self {
                    let count = self.asked.withLock { asked in
                        asked.append(request)
                        return asked.count - 1
                    }
                    if case .answer(let answer) = script(request, count) {
                        let frame = ControlFrame.bytes(answer)
                        _ = frame.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    }
                }
                close(connection)
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
        unlink(path)
    }

    private static func request(_ connection: Int32) -> WireControlRequest? {
        guard let prefix = bytes(ControlFrame.lengthBytes, connection),
            let length = ControlFrame.length(prefix.reduce(0) { $0 << 8 | UInt32($1) }),
            let message = bytes(length, connection)
        else { return nil }
        return try? WireControlRequest.decode(message)
    }

    private static func bytes(_ count: Int, _ connection: Int32) -> Data? {
        var bytes = Data(count: count)
        let got = bytes.withUnsafeMutableBytes { recv(connection, $0.baseAddress, $0.count, Int32(MSG_WAITALL)) }
        return got == count ? bytes : nil
    }
}

extension ScriptedAgent.Answer {
    static func uploads(_ uploads: [LogUploadReport]) -> ScriptedAgent.Answer {
        var answer = WireControlAnswer()
        answer.succeeded = true
        answer.json = (try? JSONEncoder().encode(uploads)) ?? Data()
        return .answer(answer)
    }

    static func failure(_ code: String, _ message: String, exitCode: UInt32) -> ScriptedAgent.Answer {
        var answer = WireControlAnswer()
        answer.errorCode = code
        answer.message = message
        answer.exitCode = exitCode
        return .answer(answer)
    }
}

import Dispatch
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Asks a running agent over its control socket: one request, one answer, bounded by a time-out. It blocks a thread of
/// its own and none of the threads that tasks share.
package struct ControlClient: Sendable {
    package let directory: String
    /// Applies to each read and write.
    private let timeoutSeconds: Int

    package init(directory: String, timeoutSeconds: Int = 30) {
        self.directory = directory
        self.timeoutSeconds = timeoutSeconds
    }

    /// - Returns: `nil` if no agent listens: there is no socket, or a killed agent left one.
    /// - Throws: `tryAgain` if an agent accepted the connection and gave no complete answer. It is then unknown whether
    ///   the agent did what was asked.
    package func ask(_ request: WireControlRequest) async throws(ControlError) -> WireControlAnswer? {
        let result = await withCheckedContinuation { continuation in
            // Its own queue has its own thread. The global queues share theirs with tasks.
            DispatchQueue(label: "ws1.control-client").async {
                continuation.resume(returning: Result { () throws(ControlError) in try askBlocking(request) })
            }
        }
        return try result.get()
    }

    /// Asks as ``ask(_:)`` does, on the caller's thread. For programs without tasks.
    package func askBlocking(_ request: WireControlRequest) throws(ControlError) -> WireControlAnswer? {
        guard let frame = ControlFrame.bytes(request) else {
            throw ControlError(.usage, "the request is over \(ControlFrame.maximumBytes) bytes")
        }
        return try exchange(frame)
    }

    private func exchange(_ frame: Data) throws(ControlError) -> WireControlAnswer? {
        guard let descriptor = try connect() else { return nil }
        defer { close(descriptor) }
        try send(frame, descriptor)
        let prefix = try receive(ControlFrame.lengthBytes, descriptor)
        guard let length = ControlFrame.length(prefix.reduce(0) { $0 << 8 | UInt32($1) }) else {
            throw unanswered("gave no answer of ours")
        }
        do { return try WireControlAnswer.decode(try receive(length, descriptor)) } catch let error as ControlError {
            throw error
        } catch {
            throw unanswered("gave an answer that cannot be read")
        }
    }

    private func connect() throws(ControlError) -> Int32? {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            guard let denial = AccessDenial.text(directory, errno) else { return nil }
            throw denied(denial)
        }
        let whole = "\(directory)/\(ControlSocketPath.name)"
        let path = try ControlSocketPath(directory: directory)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ControlError(.failed, "no socket: \(String(cString: strerror(errno)))") }
        var time = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.path.utf8).prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                retryingOnInterrupt {
                    Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        if result == 0 { return descriptor }
        let error = errno
        close(descriptor)
        switch error {
        case ENOENT, ECONNREFUSED, ENOTDIR: return nil
        case EAGAIN: throw ControlError(.tryAgain, "the agent in \(directory) has too many connections: try again")
        case EACCES, EPERM: throw denied("\(AccessDenial(whole)). \(AccessDenial(whole).remedy)")
        default:
            throw ControlError(
                .failed,
                "the control socket \(directory)/\(ControlSocketPath.name) cannot be used: "
                    + "\(String(cString: strerror(error)))"
            )
        }
    }

    private func denied(_ why: String) -> ControlError {
        ControlError(
            .failed,
            "the agent in \(directory) cannot be asked: \(why); or let a group of yours do so, with accessGroup in "
                + "the agent's configuration"
        )
    }

    private func send(_ bytes: Data, _ descriptor: Int32) throws(ControlError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { rest in
                retryingOnInterrupt {
                    Glibc.send(descriptor, rest.baseAddress! + sent, rest.count - sent, Int32(MSG_NOSIGNAL))
                }
            }
            guard count > 0 else { throw unanswered("did not take the request") }
            sent += count
        }
    }

    private func receive(_ count: Int, _ descriptor: Int32) throws(ControlError) -> Data {
        var bytes = Data(count: count)
        var received = 0
        while received < count {
            let got = bytes.withUnsafeMutableBytes { room in
                retryingOnInterrupt { Glibc.recv(descriptor, room.baseAddress! + received, room.count - received, 0) }
            }
            guard got > 0 else {
                let isSilent = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
                throw unanswered(
                    isSilent ? "did not answer in \(timeoutSeconds) s" : "closed the connection without an answer")
            }
            received += got
        }
        return bytes
    }

    private func unanswered(_ what: String) -> ControlError {
        ControlError(
            .tryAgain,
            "the agent in \(directory) \(what): it is unknown whether it did what was asked; look at its status")
    }
}

extension WireControlAnswer {
    /// The answer, if the agent did what was asked.
    /// - Throws: the agent's error otherwise.
    package func succeeding() throws(ControlError) -> WireControlAnswer {
        if succeeded { return self }
        let code: FailureCode =
            switch exitCode {
            case 64: .usage
            case 75: .tryAgain
            default: .failed
            }
        throw ControlError(code, message)
    }
}

/// Why an agent could not be asked, or refused.
package struct ControlError: CodedError {
    package let code: FailureCode
    /// The text for people: what failed, on what, and what to do.
    package let message: String

    package init(_ code: FailureCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

import Glibc

/// A program that prints for the agent, in a process group of its own. Reading never waits longer than it is told, and
/// a pipe that nobody reads makes the program wait. Not `Sendable`: use it from one thread at a time.
final class HelperProcess {
    enum Reading: Equatable, Sendable {
        case bytes(Int)
        /// Nothing came in time.
        case nothing
        /// It closed its output.
        case ended
    }

    /// Bytes of standard error that are kept. The rest is read and dropped, so that the program does not wait for it.
    private static let complaintBytes = 2_048
    /// Bytes that wait in the pipe, so that the program and the agent seldom wait for each other.
    private static let pipeBytes: Int32 = 1 << 20
    /// `F_SETPIPE_SZ` of Linux, which headers show only to some.
    private static let setPipeSize: Int32 = 1_031

    private let process: pid_t
    private let output: Int32
    private let errors: Int32
    private var complaint: [UInt8] = []
    private var ending: Int32?

    /// - Parameters:
    ///   - program: an absolute path. It gets no variable of the agent, because those may hold secrets.
    /// - Throws: ``IntakeFailure`` if it cannot be started.
    init(_ program: String, _ arguments: [String]) throws(IntakeFailure) {
        let out = try Self.makePipe()
        let err: (read: Int32, write: Int32)
        do throws(IntakeFailure) { err = try Self.makePipe() } catch {
            close(out.read)
            close(out.write)
            throw error
        }
        defer {
            close(out.write)
            close(err.write)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, out.write, 1)
        posix_spawn_file_actions_adddup2(&actions, err.write, 2)
        // The agent opens its files so that they close here by themselves; this is for those of libraries.
        for descriptor in 3..<Int32(min(getdtablesize(), 1024)) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The agent holds signals back; the program starts as from a terminal.
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let words = Self.copies([program] + arguments)
        let environment = Self.copies(["PATH=/usr/bin:/bin", "LC_ALL=C"])
        defer { for text in words + environment { free(text) } }
        var process: pid_t = 0
        let result = posix_spawn(&process, program, &actions, &attributes, words, environment)
        guard result == 0 else {
            close(out.read)
            close(err.read)
            throw IntakeFailure("\(program) does not start: \(String(cString: strerror(result)))")
        }
        self.process = process
        output = out.read
        errors = err.read
        _ = fcntl(output, Self.setPipeSize, Self.pipeBytes)
    }

    deinit {
        if ending == nil {
            // It is not reaped yet, so nobody else can have its number.
            kill(-process, SIGKILL)
            var ignored: Int32 = 0
            while waitpid(process, &ignored, 0) < 0, errno == EINTR {}
        }
        close(output)
        close(errors)
    }

    /// - Parameter milliseconds: for how long it may wait for the first byte.
    func read(into buffer: UnsafeMutableRawBufferPointer, milliseconds: Int32) -> Reading {
        readErrors()
        var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0 else { return .nothing }
        let count = Glibc.read(output, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return .nothing }
        readErrors()
        return .ended
    }

    /// Kills it, with what it started.
    func end() { if ending == nil { kill(-process, SIGKILL) } }

    /// - Returns: whether it has ended and is reaped. Does not wait.
    func isReaped() -> Bool {
        if ending != nil { return true }
        var status: Int32 = 0
        let waited = waitpid(process, &status, WNOHANG)
        guard waited == process || (waited < 0 && errno != EINTR) else { return false }
        ending = status
        return true
    }

    /// It ended otherwise than with 0. Only once it is reaped.
    var hasFailed: Bool { ending.map { $0 != 0 } ?? false }

    /// What it said on standard error, or how it ended, once it is reaped; `nil` if all was well.
    var objection: String? {
        let said = String(decoding: complaint, as: UTF8.self).split(separator: "\n").first.map(String.init)
        guard let ending else { return said }
        let signal = ending & 0x7f
        if signal != 0 { return said ?? "ended by signal \(signal)" }
        let code = (ending >> 8) & 0xff
        return said ?? (code == 0 ? nil : "exited with \(code)")
    }

    private func readErrors() {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            // Few rounds, because a program could write for ever.
            for _ in 0..<16 {
                let count = Glibc.read(errors, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                let room = Self.complaintBytes - complaint.count
                complaint.append(contentsOf: buffer[..<count].prefix(room))
            }
        }
    }

    /// A list for C, which the caller frees.
    private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }

    /// Its reading end does not wait, and no other program gets either end.
    private static func makePipe() throws(IntakeFailure) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IntakeFailure("no pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }
}

/// Why a source cannot be read, in words that name the remedy.
struct IntakeFailure: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

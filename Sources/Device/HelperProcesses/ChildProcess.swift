import Glibc

/// A program that the agent starts, in a process group of its own. The one place of the device's side that spawns.
///
/// It is started without a shell, as from a terminal: no signal is held back or ignored. It gets the variables that are
/// named and no other one, because the agent's may hold secrets. It gets standard input, output and error, and no other
/// descriptor. Whoever makes one asks ``reap()`` until it has ended; else a zombie stays until this is released. Not
/// `Sendable`: use it from one thread or task at a time.
package final class ChildProcess {
    /// What a standard descriptor of the program is.
    package enum Stream: Sendable {
        /// `/dev/null`.
        case nothing
        /// That of the agent.
        case inherited
        /// A copy of this descriptor.
        case descriptor(Int32)
    }

    /// How a program ended.
    package struct Ending: Equatable, Sendable {
        /// As of waitpid(2).
        let status: Int32

        /// It ended otherwise than with 0.
        package var hasFailed: Bool { status != 0 }

        /// What there is to say; `nil` after exit code 0.
        package var objection: String? {
            let signal = status & 0x7f
            if signal != 0 { return "ended by signal \(signal)" }
            let code = (status >> 8) & 0xff
            return code == 0 ? nil : "exited with \(code)"
        }
    }

    private let process: pid_t
    private let killsGroup: Bool
    /// How it ended, once it is reaped.
    package private(set) var ending: Ending?

    /// - Parameters:
    ///   - program: an absolute path.
    ///   - environment: all its variables, as `NAME=VALUE`.
    ///   - killsGroup: what it started ends with it. `false`: that lives on.
    /// - Throws: why it cannot be started, in the words of the system.
    package init(
        _ program: String, _ arguments: [String], environment: [String], input: Stream, output: Stream, errors: Stream,
        killsGroup: Bool
    ) throws(StartFailure) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in [input, output, errors].enumerated() {
            let number = Int32(number)
            switch stream {
            case .nothing:
                posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
            case .inherited: break
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            }
        }
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
        let variables = Self.copies(environment)
        defer { for text in words + variables { free(text) } }
        var process: pid_t = 0
        let result = posix_spawn(&process, program, &actions, &attributes, words, variables)
        guard result == 0 else { throw StartFailure(String(cString: strerror(result))) }
        self.process = process
        self.killsGroup = killsGroup
    }

    /// Kills the group and waits for the program, unless it is reaped.
    deinit {
        guard ending == nil else { return }
        kill()
        var ignored: Int32 = 0
        while waitpid(process, &ignored, 0) < 0, errno == EINTR {}
    }

    /// Kills it, with what it started and what did not leave its group. Does not wait.
    package func kill() {
        // It is not reaped yet, so nobody else can have its number.
        guard ending == nil else { return }
        _ = Glibc.kill(-process, SIGKILL)
        // It may itself have gone into another group, where the call before does not find it.
        _ = Glibc.kill(process, SIGKILL)
    }

    /// - Returns: whether it has ended and is reaped. Does not wait.
    package func reap() -> Bool {
        if ending != nil { return true }
        // What is left of the group is killed before its number is given back with the first process.
        if killsGroup {
            var information = siginfo_t()
            let flags = WEXITED | WNOHANG | WNOWAIT
            guard waitid(P_PID, id_t(process), &information, flags) == 0 else { return reap(after: errno) }
            guard information.si_signo == SIGCHLD else { return false }
            kill()
        }
        var status: Int32 = 0
        let waited = waitpid(process, &status, WNOHANG)
        guard waited != 0 else { return false }
        guard waited == process else { return reap(after: errno) }
        ending = Ending(status: status)
        return true
    }

    /// Somebody else reaped it, so how it ended is not known.
    private func reap(after error: Int32) -> Bool {
        guard error != EINTR else { return false }
        ending = Ending(status: -1)
        return true
    }

    /// A list for C, which the caller frees.
    private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}

/// Why a program cannot be started.
package struct StartFailure: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

import Glibc

/// Starts a process with chosen descriptors only.
///
/// A test kit starts one shell this way, which then starts and ends the program under test. Between fork and exec a
/// child shares all descriptors of its parent, and that disturbs tests which run meanwhile. The shell has few.
package enum SpawnedProcess {
    /// Where one of the child's descriptors leads.
    package enum Stream {
        case null
        /// An open descriptor of this process. It may be closed after the start.
        case descriptor(Int32)
        /// Writes are appended to the file. It is made if there is none.
        case appended(toFile: String)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The child begins with no signal blocked or ignored, whatever the threads of the test runner do.
    /// - Parameters:
    ///   - command: the path of the program, and its arguments.
    ///   - environment: as `NAME=VALUE`; `nil`: that of this process.
    ///   - streams: the child's descriptors in their order, beginning with its standard input. It has no others.
    ///   - hasOwnGroup: Ctrl-C at the terminal does not reach a group of its own.
    package static func start(
        _ command: [String], environment: [String]? = nil, streams: [Stream], hasOwnGroup: Bool = true
    ) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in zip(Int32(0)..., streams) {
            switch stream {
            case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .appended(let file):
                posix_spawn_file_actions_addopen(&actions, number, file, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            }
        }
        for descriptor in Int32(streams.count)..<Int32(min(getdtablesize(), 1024)) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let group = hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))

        var arguments = command.map { strdup($0) } + [nil]
        var variables = (environment ?? []).map { strdup($0) } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        var process: pid_t = 0
        let result =
            environment == nil
            ? posix_spawn(&process, command[0], &actions, &attributes, &arguments, environ)
            : posix_spawn(&process, command[0], &actions, &attributes, &arguments, &variables)
        guard result == 0 else {
            throw Failure(description: "cannot start \(command[0]): \(String(cString: strerror(result)))")
        }
        return process
    }

    /// Waits for the end of a child. Blocks.
    /// - Returns: the status as `waitpid` has it.
    @discardableResult
    package static func waitForEnd(of process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }
}

import ArgumentParser
import Glibc

/// A command that runs until somebody stops it, and then ends in order.
package protocol ServiceCommand: AsyncParsableCommand {
    /// Checks the process limits that it needs. Is called before the process has a second thread, because one that gets
    /// no memory ends the process without a message.
    static func checkLimits() throws(CommandError)
}

/// Starts and ends every program of this package.
package enum Program {
    /// Parses the arguments, runs the command, and ends the process with its exit code. Call it on the main thread,
    /// before another thread exists.
    ///
    /// The command runs in a task, and the main thread only waits. An asynchronous `main` would end in `dispatch_main`,
    /// which unblocks all signals, so that a signal held back by ``StopSignals`` would end the process.
    ///
    /// - Parameter describing: converts an error of the libraries; with `nil`, ArgumentParser reports the error.
    package static func runAndExit(
        _ root: any ParsableCommand.Type, describing: @escaping @Sendable (any Error) -> CommandError? = { _ in nil }
    ) -> Never {
        FirstProcess.tendOthers()
        StopSignals.holdBack()
        // libdispatch tries to give each worker thread a priority of its own. An ordinary user may not raise one, and
        // each attempt that fails would be a line in the system's log. Whoever looks for a fault may set it to YES.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // If the reader of a pipe has gone, the write fails instead of a signal ending the process.
        signal(SIGPIPE, SIG_IGN)
        // Likewise beyond a limit on the size of files: the write fails for want of room.
        signal(SIGXFSZ, SIG_IGN)
        let command: any ParsableCommand
        do { command = try parsed(root) } catch { end(root, with: error, describing) }
        Task.detached {
            do { try await run(command) } catch { end(root, with: error, describing) }
            Glibc.exit(0)
        }
        while true { pause() }
    }

    /// Parses the arguments and checks the limits. No second thread exists yet: without memory for it, libdispatch
    /// would wait for ever.
    private static func parsed(_ root: any ParsableCommand.Type) throws -> any ParsableCommand {
        try ProcessLimits.command.check()
        let command = try root.parseAsRoot()
        if let service = command as? any ServiceCommand {
            try type(of: service).checkLimits()
        } else {
            StopSignals.letThrough()
        }
        return command
    }

    private static func run(_ command: any ParsableCommand) async throws {
        var command = command
        if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    }

    private static func end(
        _ root: any ParsableCommand.Type, with error: any Error, _ describing: (any Error) -> CommandError?
    ) -> Never {
        guard let error = error as? CommandError ?? describing(error) else { root.exit(withError: error) }
        if error.code != .readerGone { StandardError.line("\(root._commandName): \(error.message)") }
        Glibc.exit(error.exitCode)
    }
}

/// Holds back SIGTERM, SIGINT and SIGHUP until the program listens for them.
///
/// A signal during the start would end the process at once, with its work half done. A signal that is held back waits
/// in the kernel until the service group listens, because libdispatch reads signals from a signalfd.
enum StopSignals {
    /// Call it before another thread exists, because threads inherit the signal mask.
    static func holdBack() { change(SIG_BLOCK) }

    /// Lets signals through, for commands that need no orderly stop. A signal that waits takes effect now.
    static func letThrough() { change(SIG_UNBLOCK) }

    private static func change(_ how: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        // SIGHUP makes a running service read its configuration again. It ends every other command.
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(how, &signals, nil)
    }
}

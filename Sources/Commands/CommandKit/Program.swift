import ArgumentParser
import Glibc

/// A command that runs until somebody stops it, and then ends in order.
package protocol ServiceCommand: AsyncParsableCommand {
    /// What it needs of its process.
    static var limits: ProcessLimits { get }
}

extension ServiceCommand {
    package static var limits: ProcessLimits { .command }
}

/// How every program of this package starts and ends.
package enum Program {
    /// Parses the arguments, runs the command, and ends the process with its exit code. To be called on the main
    /// thread, before there is another.
    ///
    /// The command runs in a task and the main thread only waits, because an asynchronous `main` ends in
    /// `dispatch_main`, which waits in `sigsuspend` with no signal blocked: one that ``StopSignals`` holds back would
    /// end the process there.
    ///
    /// - Parameter describing: an error of the targets below as a command's; `nil`: ArgumentParser tells it.
    package static func runAndExit(
        _ root: any ParsableCommand.Type, describing: @escaping @Sendable (any Error) -> CommandError? = { _ in nil }
    ) -> Never {
        StopSignals.holdBack()
        // A reader that went away shows as a failed write.
        signal(SIGPIPE, SIG_IGN)
        // Before there is a second thread: without memory for one, libdispatch would wait for ever.
        if let objection = ProcessLimits.command.objection() { end(root, with: CommandError(.failed, objection)) }
        Task.detached {
            do {
                try await run(root)
            } catch {
                guard let known = error as? CommandError ?? describing(error) else { root.exit(withError: error) }
                end(root, with: known)
            }
            Glibc.exit(0)
        }
        while true { pause() }
    }

    private static func run(_ root: any ParsableCommand.Type) async throws {
        var command = try root.parseAsRoot()
        if let service = command as? any ServiceCommand {
            if let objection = type(of: service).limits.objection() { throw CommandError(.failed, objection) }
        } else {
            StopSignals.letThrough()
        }
        if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    }

    private static func end(_ root: any ParsableCommand.Type, with error: CommandError) -> Never {
        if error.code != .readerGone { StandardError.line("\(root._commandName): \(error.message)") }
        Glibc.exit(error.exitCode)
    }
}

/// SIGTERM, SIGINT and SIGHUP between a program's first line and the moment somebody listens for them.
///
/// A signal that comes then would end the process on the spot, with whatever it has begun. Held back it waits in the
/// kernel and is seen as soon as the service group listens (libdispatch reads signals from a signalfd, which also gives
/// those that already wait).
enum StopSignals {
    /// To be called before any other thread exists: threads inherit it.
    static func holdBack() { change(SIG_BLOCK) }

    /// For commands that nobody has to stop in order: one that waits takes effect now.
    static func letThrough() { change(SIG_UNBLOCK) }

    private static func change(_ how: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        // Asks a running service to read its configuration again. It ends every other command, as a terminal that is
        // closed should.
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(how, &signals, nil)
    }
}

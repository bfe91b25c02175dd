import ArgumentParser
import ControlSocket
import DataSampler
import FoundationEssentials
import Glibc
import WireModel

/// `ws1agent`: the device's side for machines without an application of their own.
package struct AgentCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1agent",
        abstract: "Samples this machine, keeps records on disk, and sends them to a collector, each exactly once.",
        discussion: """
            Every flag can also be given as an environment variable (WS1_ and its name in capitals, dashes as underscores) or as a key of the \
            configuration file (its name in camel case). A flag beats the variable, which beats the file.

            Exit codes: 0 done, 1 failed, 64 wrong usage or configuration, 75 try again later.
            """,
        version: DataSampler.version,
        subcommands: [
            RunCommand.self, StatusCommand.self, EventCommand.self, LogCommand.self, BeaconCommand.self,
            BalanceCommand.self,
            ProfileCommand.self,
            QueueCommand.self, UnlockCommand.self, DoNotDisturbCommand.self, PushTokenCommand.self, ConsentCommand.self,
            UnenrollCommand.self, EndedCommand.self, WipeCommand.self, ValidateCommand.self,
        ])

    package init() {}

    /// Parses the arguments, runs the command, and ends the process with its exit code. To be called on the main
    /// thread.
    ///
    /// The command runs in a task and the main thread only waits, because an asynchronous `main` ends in
    /// `dispatch_main`, which waits in `sigsuspend` with no signal blocked: one that ``StopSignals`` holds back would
    /// end the process there.
    package static func runAndExit() -> Never {
        StopSignals.holdBack()
        // Before there is a second thread: without memory for one, libdispatch would wait for ever.
        if let objection = ProcessLimits.command.objection() { refuse(AgentError(.failed, objection)) }
        Task.detached { await runParsed() }
        while true { pause() }
    }

    private static func runParsed() async -> Never {
        do {
            var command = try parseAsRoot()
            if !(command is RunCommand) { StopSignals.letThrough() }
            let limits = command is RunCommand ? ProcessLimits.agent : .command
            if let objection = limits.objection() { throw AgentError(.failed, objection) }
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch let error as AgentError {
            refuse(error)
        } catch {
            exit(withError: error)
        }
        Glibc.exit(0)
    }

    private static func refuse(_ error: AgentError) -> Never {
        StandardStreams.error("ws1agent: \(error.message)")
        Glibc.exit(error.exitCode)
    }
}

/// Text to the process's streams, whole lines. Nothing of it steers a terminal: names, reasons and answers of others
/// are among it.
enum StandardStreams {
    static func error(_ line: String) { write("\(shown(line))\n", to: STDERR_FILENO) }

    static func output(_ text: String) { write("\(shown(text))\n", to: STDOUT_FILENO) }

    /// - Parameter json: as an encoder gave it.
    static func output(_ json: Data) {
        write(String(decoding: json.escapingHiddenCharactersInJSON, as: UTF8.self) + "\n", to: STDOUT_FILENO)
    }

    private static func shown(_ text: String) -> String { text.escapingControlCharacters(keeping: "\n\t") }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                // Nobody reads any more: there is nobody to tell either.
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
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
        // Asks a running agent to read its configuration again; it ends every other command, as a terminal that is
        // closed should.
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(how, &signals, nil)
    }
}

import ArgumentParser
import DataSampler
import FoundationEssentials
import LogStore

struct EndedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ended", abstract: "For a service manager: says how the agent ended, for the log of its crash.",
        discussion: """
            Reads EXIT_CODE (exited, killed or dumped), EXIT_STATUS (a number, or a signal's name) and SERVICE_RESULT, as systemd sets them for \
            ExecStopPost. They are noted beside what the agent left; its next start tells them with the crash. After an orderly end there is \
            nothing to note.
            """)

    @OptionGroup var options: DirectoryOptions

    func run() throws {
        let directory = try DeviceAccess(options).configuration.directory
        let environment = ProcessInfo.processInfo.environment
        guard let code = environment["EXIT_CODE"], let status = environment["EXIT_STATUS"], !code.isEmpty, !status.isEmpty else {
            throw AgentError(.usage, "EXIT_CODE and EXIT_STATUS are not set: this is for a service manager, as systemd's ExecStopPost")
        }
        let isNoted: Bool
        do throws(LogStoreError) {
            isNoted = try SessionEnding.note(
                code: code, status: status, result: environment["SERVICE_RESULT"] ?? "", application: RunCommand.logName,
                in: StoreDirectory(path: "\(directory)/\(DataSampler.logDirectoryName)"))
        } catch {
            throw AgentError(error)
        }
        StandardStreams.output(isNoted ? "noted: \(code) \(status)" : "nothing to note: the agent closed its log")
    }
}

import ArgumentParser
import DataSampler
import Glibc
import WireModel

/// What cannot be taken back asks first on a terminal, and wants `--yes` anywhere else.
struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Do not ask.")
    var yes = false

    func confirm(_ what: String) throws(AgentError) {
        guard !yes else { return }
        guard isatty(STDIN_FILENO) == 1 else { throw AgentError(.usage, "\(what). Nobody can be asked here: give --yes") }
        StandardStreams.error("\(what). Go on? [y/N]")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else { throw AgentError(.failed, "nothing was done") }
    }
}

struct UnenrollCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unenroll", abstract: "Ends this device's enrollment: a last beacon, then nothing more is recorded or sent.",
        discussion: "What waits is counted as unenrolled. Needs a running agent. Another enrollment token enrolls the device again.")

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        try confirmation.confirm("This device leaves its organization, and what it has not sent is dropped")
        var request = WireControlRequest()
        request.unenroll = WireControlUnenroll()
        let answer = try await access.ask(request)
        // The number says whether the collector has been told.
        StandardStreams.output(answer.number == 1 ? "unenrolled" : "unenrolled here; the collector is told as soon as it can be reached")
    }
}

struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe", abstract: "Erases what this device keeps; what waits is counted as wiped and never sent.",
        discussion: "Identity and profile stay, and recording goes on in a new epoch. Needs a running agent; a crash in between resumes it."
    )

    @Option(help: "Why, for the log.")
    var reason: String = ""

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        try confirmation.confirm("All records that wait on this device and its logs are erased")
        var request = WireControlRequest()
        request.wipe.reason = reason
        _ = try await access.ask(request)
        StandardStreams.output("wiped")
    }
}

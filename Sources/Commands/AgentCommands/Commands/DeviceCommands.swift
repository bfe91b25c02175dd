import ArgumentParser
import CommandKit
import DataSampler
import Glibc
import WireModel

/// Telling a running agent what it cannot see by itself.
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Says that the device was unlocked: a beacon goes at once.",
        discussion: "Needs a running agent. For a hook of the login manager, or a session's start.")

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.unlock = WireControlUnlock()
        let answer = try await DeviceAccess(options).ask(request)
        try Output.line("beacon \(answer.number)")
    }
}

struct DoNotDisturbCommand: AsyncParsableCommand {
    enum Switch: String, CaseIterable, ExpressibleByArgument {
        case on
        case off
    }

    static let configuration = CommandConfiguration(
        commandName: "dnd", abstract: "Begins or ends do-not-disturb: samples, events and logs pause, beacons go on.",
        discussion: "Needs a running agent, and a profile that allows it.")

    @Argument(help: "on or off.")
    var state: Switch

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.doNotDisturb.on = state == .on
        _ = try await DeviceAccess(options).ask(request)
        try Output.line("do-not-disturb is \(state.rawValue)")
    }
}

struct PushTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-token",
        abstract: "Tells the collector how to wake this device: a beacon with the token goes at once.",
        discussion: "Needs a running agent. A token that has not changed is not sent again.")

    @Argument(help: "The token, up to 4096 bytes.")
    var token: String?

    @Flag(help: "The collector forgets the one it has.")
    var clear = false

    @OptionGroup var options: DirectoryOptions

    func validate() throws {
        guard (token == nil) == clear else { throw ValidationError("give a token, or --clear") }
    }

    func run() async throws {
        var request = WireControlRequest()
        if let token { request.pushToken.token.token = token } else { request.pushToken.token.cleared = true }
        _ = try await DeviceAccess(options).ask(request)
        try Output.line(clear ? "the push token is cleared" : "the push token is set")
    }
}

struct ConsentCommand: AsyncParsableCommand {
    enum Decision: String, CaseIterable, ExpressibleByArgument {
        case granted
        case pending
        case denied

        var wire: WireConsent {
            switch self {
            case .granted: .granted
            case .pending: .pending
            case .denied: .denied
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "consent", abstract: "Says what the person whose device it is has decided.",
        discussion: """
            pending: events and samples wait on the device. granted: they are sent. denied: they are dropped, and nothing is recorded; both are \
            counted. Needs a running agent; it remembers.
            """)

    @Argument(help: "granted, pending or denied.")
    var decision: Decision

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.consent.consent = decision.wire
        _ = try await DeviceAccess(options).ask(request)
        try Output.line("consent is \(decision.rawValue)")
    }
}

/// What cannot be taken back asks first on a terminal, and wants `--yes` anywhere else.
struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Do not ask.")
    var yes = false

    func confirm(_ what: String) throws(CommandError) {
        guard !yes else { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(.usage, "\(what). Nobody can be asked here: give --yes")
        }
        StandardError.line("\(what). Go on? [y/N]")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else {
            throw CommandError(.failed, "nothing was done")
        }
    }
}

struct UnenrollCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unenroll",
        abstract: "Ends this device's enrollment: a last beacon, then nothing more is recorded or sent.",
        discussion:
            "What waits is counted as unenrolled. Needs a running agent. Another enrollment token enrolls the device again."
    )

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        try confirmation.confirm("This device leaves its organization, and what it has not sent is dropped")
        var request = WireControlRequest()
        request.unenroll = WireControlUnenroll()
        let answer = try await access.ask(request)
        // The number says whether the collector has been told.
        try Output.line(
            answer.number == 1 ? "unenrolled" : "unenrolled here; the collector is told as soon as it can be reached")
    }
}

struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe", abstract: "Erases what this device keeps; what waits is counted as wiped and never sent.",
        discussion:
            "Identity and profile stay, and recording goes on in a new epoch. Needs a running agent; a crash in between resumes it."
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
        try Output.line("wiped")
    }
}

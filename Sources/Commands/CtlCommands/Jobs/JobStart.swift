import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials
import JSON
import TelemetryBasics
import WireModel

/// Whether a command waits for the end of a job.
struct FollowOptions: ParsableArguments {
    @Flag(help: "Wait until the job has ended. The exit code is 1 if a device did not get it.")
    var wait = false

    /// Prints the job, and waits for its end if that is asked for.
    func show(_ job: JSONValue, _ session: Session, _ output: OutputOptions) async throws {
        var job = job
        while wait, let id = job["id"]?.string, ["preparing", "running"].contains(job["state"]?.string ?? "") {
            try await Task.sleep(for: .seconds(1))
            job = try await session.json(CollectorCall(.get, "device-jobs", id))
        }
        try output.print(job)
        guard wait else { return }
        let missed = ["refused", "waiting"].compactMap { job[$0]?.int64 }.reduce(0, +)
        if missed > 0 {
            let command = "ws1ctl job devices \(job["id"]?.string ?? "")"
            throw CommandError(
                .failed, "\(CountText.of(missed, "device")) did not get it: `\(command)` says which, and why")
        }
    }
}

/// Selects devices, shows how many they are, and begins a job once a person has confirmed it.
struct JobStartOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A device by its name, its id, or the first digits of its id; may be repeated.", valueName: "device"),
        completion: .devices)
    var device: [String] = []

    @OptionGroup(title: "Devices by filters") var filter: DeviceFilter

    @Flag(help: "All devices but test devices.")
    var allDevices = false

    @OptionGroup var following: FollowOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func validate() throws {
        let ways = [!device.isEmpty, filter.isSelective, allDevices].count { $0 }
        guard ways == 1 else {
            throw ValidationError("say which devices: by --device, by filters such as --state, or --all-devices")
        }
    }

    /// - Parameters:
    ///   - consequence: what happens to them, for the person to confirm: "will be refused".
    func begin(_ action: String, _ members: [String: JSONValue] = [:], consequence: String) async throws {
        try await collector.ask { session in
            var body = members
            body["action"] = .text(action)
            if device.isEmpty {
                body["filter"] = .object(filter.members)
            } else {
                var ids: [JSONValue] = []
                for name in device { ids.append(.text(try await session.device(name))) }
                body["devices"] = .array(ids)
            }
            let call = CollectorCall(.post, "device-jobs")
            let proposal = try await session.send(call, .object(body))
            let count = proposal["devices"]?.int64 ?? 0
            guard count > 0, let word = proposal["confirm"] else {
                throw CommandError(.failed, "no device is selected: `ws1ctl device list` with these filters shows none")
            }
            try confirmation.confirm("\(CountText.of(count, "device")) \(consequence)")
            body["confirm"] = word
            let job = try await session.send(call, .object(body), key: UUID().uuidString)
            try await following.show(job, session, output)
        }
    }
}

struct JobSend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "command", abstract: "Issues a command to many devices.",
        discussion: "Arguments follow as NAME=TEXT, or NAME:=JSON for what is no text, as of `ws1ctl command send`.")

    @Argument(help: "The kind of command.", completion: .list(IssuedCommand.kinds))
    var kind: String
    @Argument(help: "NAME=TEXT or NAME:=JSON.")
    var arguments: [String] = []
    @Option(help: ArgumentHelp("How long a device may take to come: 90s, 15m, 2h, 3d.", valueName: "time"))
    var expiresIn: SpanArgument?
    @OptionGroup var start: JobStartOptions

    func run() async throws {
        var members: [String: JSONValue] = ["kind": .text(kind)]
        let arguments = try IssuedSend.object(arguments)
        if !arguments.isEmpty { members["arguments"] = .object(arguments) }
        if let expiresIn {
            members["expiresInSeconds"] = .integer(try expiresIn.seconds(of: "--expires-in", atMostDays: 30))
        }
        let isWipe = kind == "wipe" || kind == "enterprise-wipe"
        try await start.begin(
            "command", members, consequence: isWipe ? "are erased by `\(kind)`" : "get the command \(kind)")
    }
}

struct JobRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Refuses many devices from now on, until they are reinstated.")

    @Flag(help: "Also revoke the tokens that the devices last enrolled with.")
    var closeEnrollmentToken = false
    @OptionGroup var start: JobStartOptions

    func run() async throws {
        try await start.begin(
            "revoke", ["closeEnrollmentToken": .boolean(closeEnrollmentToken)], consequence: "will be refused")
    }
}

struct JobReinstate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reinstate", abstract: "Takes the revocation of many devices back.")

    @OptionGroup var start: JobStartOptions

    func run() async throws { try await start.begin("reinstate", consequence: "will be accepted again") }
}

struct JobDoNotDisturb: AsyncParsableCommand {
    enum Switch: String, CaseIterable, ExpressibleByArgument {
        case on
        case off
    }

    static let configuration = CommandConfiguration(
        commandName: "do-not-disturb", abstract: "Begins or ends do-not-disturb of many devices.")

    @Argument(help: "on or off.")
    var state: Switch
    @OptionGroup var start: JobStartOptions

    func run() async throws {
        try await start.begin(
            "do-not-disturb", ["on": .boolean(state == .on)], consequence: "get do-not-disturb \(state.rawValue)")
    }
}

struct JobDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes many devices for good, with their records and logs.")

    @OptionGroup var start: JobStartOptions

    func run() async throws { try await start.begin("delete", consequence: "are deleted for good") }
}

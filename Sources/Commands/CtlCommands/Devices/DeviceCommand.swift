import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import TelemetryBasics
import WireModel

/// `ws1ctl device`.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Lists, shows, revokes, reinstates and deletes devices.",
        subcommands: [
            DeviceList.self, DeviceGet.self, DeviceRevoke.self, DeviceReinstate.self, DeviceDelete.self,
        ], aliases: ["devices"])
}

/// How many items of a list.
struct PageOptions: ParsableArguments {
    @Option(help: ArgumentHelp("At most so many. Default: 100.", valueName: "n"))
    var limit: Int?

    @Flag(help: "All of them.")
    var all = false

    var most: Int? { get throws { try ListLimit.of(limit, all: all) } }
}

/// The devices that match every filter.
struct DeviceFilter: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Words that must all occur in name, id, user, model, system, agent or application.", valueName: "words"))
    var words: String?

    @Option(
        help: "One or more of enrolled, reporting, late, silent, off, left, revoked and otlp, with commas between.",
        completion: .list(["enrolled", "reporting", "late", "silent", "off", "left", "revoked", "otlp"]))
    var state: String?

    @Option(help: "A system, or one with its version, such as \"debian 12\".")
    var os: String?

    @Option(help: "Bundle id.")
    var application: String?

    @Option(
        help: "Verdict of the compliance rules: unknown, compliant or non-compliant.",
        completion: .list(["unknown", "compliant", "non-compliant"]))
    var compliance: String?

    @Flag(help: "Include test devices.")
    var test = false

    /// By their names in the API.
    var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for (name, value) in [
            ("q", words), ("state", state), ("os", os), ("application", application), ("compliance", compliance),
        ] {
            if let value { members[name] = .text(value) }
        }
        if test { members["test"] = .boolean(true) }
        return members
    }

    /// Whether it leaves devices out. `--test` alone does not.
    var isSelective: Bool { members.contains { $0.key != "test" } }

    var query: [(String, String?)] {
        members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.string ?? "true") }
    }
}

struct DeviceList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the devices that match every filter, by name.")

    @Argument(help: "The same as --words.")
    var words: [String] = []

    @OptionGroup var filter: DeviceFilter
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        var filter = filter
        let words = [filter.words].compactMap { $0 } + words
        if !words.isEmpty { filter.words = words.joined(separator: " ") }
        let query = filter.query + [("sort", "name")]
        try await collector.ask { session in
            let items = try await session.list(CollectorCall(.get, "devices", query: query), limit: most)
            try output.print(
                items,
                [
                    ("name", "name"), ("id", "id"), ("organization", "organization"), ("state", "state"),
                    ("last seen", "lastSeenAt"), ("profile", "profileRevision"), ("application", "application"),
                ])
        }
    }
}

/// A command about one device.
struct DeviceArgument: ParsableArguments {
    @Argument(help: "The device: its name, its id, or the first digits of its id.", completion: .devices)
    var device: String
}

struct DeviceGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Shows a device with its newest beacon, identity and location.")

    @OptionGroup var argument: DeviceArgument
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            try output.print(
                try await session.json(CollectorCall(.get, "devices", try await session.device(argument.device))))
        }
    }
}

struct DeviceRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Refuses a device from now on, until it is reinstated.",
        discussion:
            "Its records and logs stay. The same machine can enroll as a new device, unless the token is closed."
    )

    @OptionGroup var argument: DeviceArgument
    @Flag(help: "Also revoke the token that the device last enrolled with.")
    var closeEnrollmentToken = false
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let id = try await session.device(argument.device)
            try confirmation.confirm("The collector will refuse device \(argument.device) (\(id))")
            try output.print(
                try await session.send(
                    CollectorCall(.post, "devices", id, "revoke"),
                    ["closeEnrollmentToken": .boolean(closeEnrollmentToken)]))
        }
    }
}

struct DeviceReinstate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reinstate", abstract: "Takes the revocation of a device back.")

    @OptionGroup var argument: DeviceArgument
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let id = try await session.device(argument.device)
            try output.print(try await session.json(CollectorCall(.post, "devices", id, "reinstate")))
        }
    }
}

struct DeviceDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes a device for good, with its records and logs.",
        discussion: "The collector says first what it would delete, and deletes exactly that.")

    @OptionGroup var argument: DeviceArgument
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let id = try await session.device(argument.device)
            let proposal = try await session.json(CollectorCall(.delete, "devices", id))
            guard let word = proposal["confirm"]?.string else {
                throw CommandError(.failed, "the collector names no `confirm` for device \(id): nothing was deleted")
            }
            let name = proposal["name"]?.string ?? id
            let organization = proposal["organization"]?.string ?? "-"
            try confirmation.confirm("Device \(name) (\(id)) of \(organization) goes for good")
            try output.print(
                try await session.json(CollectorCall(.delete, "devices", id, query: [("confirm", word)])))
        }
    }
}

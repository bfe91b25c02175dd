import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials
import JSON
import WireModel

/// `ws1ctl command`: the commands of devices.
struct IssuedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "command", abstract: "Lists, shows, issues and ends commands to devices.",
        subcommands: [IssuedList.self, IssuedGet.self, IssuedSend.self, IssuedEnd.self], aliases: ["commands"])

    /// For completion; the collector knows which there are.
    static let kinds = [
        "request-logs", "cancel", "send-beacon", "query-device-information", "reload-profile", "change-log-level",
        "wipe", "enterprise-wipe", "message",
    ]
}

struct IssuedList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists commands and their states, newest first.")

    @Argument(help: "Only those of this device.", completion: .devices)
    var device: String?
    @Option(help: "Only this kind, of the commands of all devices.", completion: .list(IssuedCommand.kinds))
    var kind: String?
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        guard device == nil || kind == nil else {
            throw CommandError(.usage, "--kind looks at the commands of all devices: leave the device out")
        }
        try await collector.ask { session in
            var call = CollectorCall(.get, "device-commands", query: [("kind", kind)])
            if let device { call = CollectorCall(.get, "devices", try await session.device(device), "commands") }
            try output.print(
                try await session.list(call, limit: most),
                [
                    ("id", "id"), ("device", "deviceName"), ("device id", "device"), ("kind", "kind"),
                    ("state", "state"), ("issued", "issuedAt"), ("by", "issuedBy"), ("detail", "detail"),
                ])
        }
    }
}

/// A command of a device.
struct IssuedArguments: ParsableArguments {
    @OptionGroup var argument: DeviceArgument
    @Argument(help: "The command's id, or its first digits.")
    var command: String

    func call(_ session: Session, _ method: CollectorCall) async throws -> CollectorCall {
        let device = try await session.device(argument.device)
        let commands = try await session.list(CollectorCall(.get, "devices", device, "commands"))
        var call = method
        call.path = ["devices", device, "commands", try Session.choose("command", command, among: commands)]
        return call
    }
}

struct IssuedGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "Shows a command and its state.")

    @OptionGroup var arguments: IssuedArguments
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            try output.print(try await session.json(try await arguments.call(session, CollectorCall(.get))))
        }
    }
}

struct IssuedSend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Issues a command to a device.",
        discussion: """
            The kinds are request-logs, cancel, send-beacon, query-device-information, reload-profile, \
            change-log-level, wipe, enterprise-wipe and message. Arguments follow as NAME=TEXT, or NAME:=JSON for what \
            is no text:

              ws1ctl command send web-1 change-log-level level=verbose durationSeconds:=600

            An answer that is lost makes no second command.
            """)

    @OptionGroup var argument: DeviceArgument
    @Argument(help: "The kind of command.", completion: .list(IssuedCommand.kinds))
    var kind: String
    @Argument(help: "NAME=TEXT or NAME:=JSON.")
    var arguments: [String] = []
    @Option(help: ArgumentHelp("How long the device may take to come: 90s, 15m, 2h, 3d.", valueName: "time"))
    var expiresIn: SpanArgument?
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let arguments = try Self.object(arguments)
        var body: [String: JSONValue] = ["kind": .text(kind)]
        if !arguments.isEmpty { body["arguments"] = .object(arguments) }
        if let expiresIn {
            body["expiresInSeconds"] = .integer(try expiresIn.seconds(of: "--expires-in", atMostDays: 30))
        }
        try await collector.ask { session in
            let device = try await session.device(argument.device)
            if kind == "wipe" || kind == "enterprise-wipe" {
                try confirmation.confirm("Device \(argument.device) (\(device)) is erased by `\(kind)`")
            }
            try output.print(
                try await session.send(
                    CollectorCall(.post, "devices", device, "commands"), .object(body), key: UUID().uuidString))
        }
    }

    /// `name=text` and `name:=json` as members of an object.
    static func object(_ arguments: [String]) throws(CommandError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for argument in arguments {
            guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else {
                throw CommandError(
                    .usage, "`\(argument)` is no argument of a command: expected NAME=TEXT or NAME:=JSON")
            }
            let text = String(argument[argument.index(after: equals)...])
            var name = String(argument[..<equals])
            var value = JSONValue.text(text)
            if name.hasSuffix(":") {
                name.removeLast()
                value = try DocumentFile.value(text, isJSON: true, path: "`\(argument)`")
            }
            guard members.updateValue(value, forKey: name) == nil else {
                throw CommandError(.usage, "`\(name)` is given twice")
            }
        }
        return members
    }
}

struct IssuedEnd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "Ends a command at the collector, so that the device does not get it any more.",
        discussion:
            "A device that has got it may carry it out. `command send DEVICE cancel command=ID` asks it to stop."
    )

    @OptionGroup var arguments: IssuedArguments
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            try output.print(try await session.json(try await arguments.call(session, CollectorCall(.delete))))
        }
    }
}

import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import WireModel

/// `ws1ctl log`.
struct LogLineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Shows and counts the log lines that devices sent.",
        discussion: "`ws1log` fetches, follows and deletes logs.",
        subcommands: [LogLines.self, LogFacetsCommand.self], aliases: ["logs"])
}

/// What logs are looked at.
struct LogFilterOptions: ParsableArguments {
    @Option(
        help: "Only this device: its name, its id, or the first digits of its id. May be given up to 50 times.",
        completion: .devices)
    var device: [String] = []

    @Option(help: "Bundle id of the program.")
    var application: String?

    @Option(help: "all, application or crash.", completion: .list(["all", "application", "crash"]))
    var type: String?

    @Option(
        help: "This level and more severe ones: error, warning, information or verbose.",
        completion: .list(["error", "warning", "information", "verbose"]))
    var level: String?

    @Option(help: "One or more categories with commas between. NAME* matches a prefix.")
    var category: String?

    @Option(help: "Only lines that contain this text.")
    var text: String?

    @Flag(help: "Include test devices. Devices that are named are included anyway.")
    var test = false

    @OptionGroup var time: TimeOptions

    func query(_ session: Session) async throws -> [(name: String, value: String?)] {
        var query: [(name: String, value: String?)] = try time.query
        for name in device { query.append(("device", try await session.device(name))) }
        return query + [
            ("application", application), ("type", type), ("level", level), ("category", category), ("text", text),
            ("test", test || !device.isEmpty ? "true" : nil),
        ]
    }
}

struct LogLines: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists log lines, the newest first, each once.")

    @OptionGroup var filter: LogFilterOptions
    @Flag(help: "The oldest first.")
    var oldest = false
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            let query = try await filter.query(session) + [("order", oldest ? "oldest" : nil)]
            try output.print(
                try await session.list(CollectorCall(.get, "logs", "lines", query: query), limit: most),
                [
                    ("time", "time"), ("device", "deviceName"), ("level", "level"), ("category", "category"),
                    ("text", "text"), ("metadata", "metadata"),
                ])
        }
    }
}

struct LogFacetsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "facets", abstract: "Counts logs by application, type, level and device.")

    @OptionGroup var filter: LogFilterOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let answer = try await session.json(
                CollectorCall(.get, "logs", "facets", query: try await filter.query(session)))
            if output.json { return try Output.json(answer) }
            let rows = [("application", "applications"), ("type", "types"), ("level", "levels"), ("device", "devices")]
                .flatMap { kind, list in
                    (answer[list]?.list ?? []).map { item -> JSONValue in
                        guard case .object(var members) = item else { return item }
                        members["name"] = members["name"] ?? members[kind] ?? .null
                        members["kind"] = .text(kind)
                        return .object(members)
                    }
                }
            try output.print(
                rows,
                [("by", "kind"), ("value", "name"), ("chunks", "chunks"), ("lines", "lines"), ("bytes", "bytes")])
        }
    }
}

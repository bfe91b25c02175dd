import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import WireModel

/// `ws1ctl event`.
struct EventCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "event", abstract: "Lists and counts events.",
        subcommands: [EventList.self, EventSummaryCommand.self], aliases: ["events"])
}

/// What events are looked at.
struct EventFilter: ParsableArguments {
    @Option(help: "Only this device: its name, its id, or the first digits of its id.", completion: .devices)
    var device: String?

    @Option(help: "Only this name.")
    var name: String?

    @Option(
        help: "Only this type.",
        completion: .list(["custom", "launch", "enrollment-call", "sdk-action", "geofence", "unspecified"]))
    var type: String?

    @Option(help: "Only this value, as text.")
    var value: String?

    @Option(help: "Bundle id of the program.")
    var application: String?

    @Flag(help: "Include test devices. A device that is named is included anyway.")
    var test = false

    @OptionGroup var time: TimeOptions

    func query(_ session: Session) async throws -> [(name: String, value: String?)] {
        var id: String?
        if let device { id = try await session.device(device) }
        return try time.query + [
            ("device", id), ("name", name), ("type", type), ("value", value), ("application", application),
            ("test", test || id != nil ? "true" : nil),
        ]
    }
}

struct EventList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists events, the newest received first.")

    @Option(
        help: "The kind of records: event, or otlp-log for log records that came as OTLP.",
        completion: .list(["event", "otlp-log"]))
    var kind: String?

    @OptionGroup var filter: EventFilter
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            try output.print(
                try await session.list(
                    CollectorCall(.get, "events", query: try await filter.query(session) + [("kind", kind)]),
                    limit: most),
                [
                    ("time", "time"), ("device", "deviceName"), ("type", "event.type"), ("name", "event.name"),
                    ("value", "event.value"), ("application", "application"),
                ])
        }
    }
}

struct EventSummaryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "summary", abstract: "Counts the events of the last day, or of a time, by a property.")

    @Option(
        help: "name, device, application or value.",
        completion: .list(["name", "device", "application", "value"]))
    var by = "name"

    @OptionGroup var filter: EventFilter
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let answer = try await session.json(
                CollectorCall(.get, "events", "summary", query: try await filter.query(session) + [("by", by)]))
            if output.json { return try Output.json(answer) }
            try output.print(
                answer["groups"]?.list ?? [],
                [
                    (by, "key"), ("device name", "deviceName"), ("events", "count"), ("devices", "devices"),
                    ("mean", "numeric.mean"), ("p95", "numeric.p95"),
                ])
        }
    }
}

import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import TelemetryBasics
import WireModel

/// `ws1ctl metric`.
struct MetricCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metric", abstract: "Shows metrics of devices.",
        subcommands: [MetricList.self, MetricLatest.self, MetricDistributionCommand.self, MetricSeries.self],
        aliases: ["metrics"])
}

extension CompletionKind {
    /// The names of the built-in metrics.
    static var metrics: CompletionKind { .shellCommand("ws1ctl metric list --names 2>/dev/null") }
}

struct MetricList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the metrics of the built-in modules.")

    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let items = try await session.json(CollectorCall(.get, "metrics-catalog"))["items"]?.list ?? []
            if output.names { return try items.forEach { try Output.line($0["metric"]?.cell ?? "-") } }
            try output.print(
                items,
                [
                    ("metric", "metric"), ("unit", "unit"), ("kind", "kind"), ("module", "module"),
                    ("description", "description"),
                ])
        }
    }
}

/// Which values of a metric are looked at.
struct MetricFilter: ParsableArguments {
    @Argument(help: "The metric, such as system.cpu.utilization.", completion: .metrics)
    var metric: String

    @Option(help: "Only this module.")
    var module: String?

    @Option(help: "Bundle id of the program.")
    var application: String?

    @Option(help: "NAME:VALUE: only values with this attribute. Several must all match.")
    var attribute: [String] = []

    @Flag(help: "Include test devices.")
    var test = false

    @OptionGroup var time: TimeOptions

    var query: [(name: String, value: String?)] {
        get throws {
            var query: [(name: String, value: String?)] = try time.query
            query += [
                ("metric", metric), ("module", module), ("application", application), ("test", test ? "true" : nil),
            ]
            for text in attribute { query.append(("attribute", text)) }
            return query
        }
    }
}

struct MetricLatest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latest", abstract: "Lists each device's newest value of a metric.")

    @OptionGroup var filter: MetricFilter
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            let items = try await session.list(
                CollectorCall(.get, "metrics", "latest", query: try filter.query), limit: most)
            if output.json { return try Output.json(JSONValue.array(items)) }
            // One row for each set of attributes.
            let rows = items.flatMap { item in
                (item["values"]?.list ?? []).map { value -> JSONValue in
                    guard case .object(var members) = item else { return item }
                    members["value"] = value["value"]
                    members["attributes"] = value["attributes"]
                    members["name"] = members["deviceName"] ?? members["device"]
                    return .object(members)
                }
            }
            try output.print(
                rows,
                [
                    ("device", "name"), ("id", "device"), ("time", "time"), ("value", "value"), ("unit", "unit"),
                    ("attributes", "attributes"),
                ])
        }
    }
}

struct MetricDistributionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distribution", abstract: "Summarizes all devices' newest values of a metric.")

    @OptionGroup var filter: MetricFilter
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let answer = try await session.json(CollectorCall(.get, "metrics", "distribution", query: try filter.query))
            if output.json { return try Output.json(answer) }
            try output.print(
                answer["distributions"]?.list ?? [],
                [
                    ("attributes", "attributes"), ("values", "count"), ("min", "min"), ("p25", "p25"), ("p50", "p50"),
                    ("p75", "p75"), ("p95", "p95"), ("max", "max"), ("mean", "mean"),
                ])
        }
    }
}

struct MetricSeries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "series", abstract: "Shows a metric over time: of a device, or how it is spread over the fleet.",
        discussion: "With --device the answer has one value for each step, otherwise percentiles over the devices.")

    @OptionGroup var filter: MetricFilter
    @Option(help: "Only this device: its name, its id, or the first digits of its id.", completion: .devices)
    var device: String?
    @Option(help: "Seconds, or a number with s, m, h or d. Of a device: 5m by default.")
    var step: String?
    @Option(
        help: """
            How the values of a step become one: mean, sum, min, max, last, count, increase or rate, or a quantile of \
            histograms: p50, p90, p95 or p99.
            """,
        completion: .list([
            "mean", "sum", "min", "max", "last", "count", "increase", "rate", "p50", "p90", "p95", "p99",
        ]))
    var aggregate: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let query = try filter.query
            let answer: JSONValue
            if let device {
                let id = try await session.device(device)
                answer = try await session.json(
                    CollectorCall(
                        .get, "devices", id, "samples", "series",
                        query: query.filter { $0.name != "test" } + [
                            ("test", "true"), ("step", step ?? "5m"), ("aggregate", aggregate ?? "mean"),
                        ]))
            } else {
                answer = try await session.json(
                    CollectorCall(
                        .get, "metrics", "series", query: query + [("step", step), ("aggregate", aggregate)]))
            }
            if output.json { return try Output.json(answer) }
            let (columns, rows) = Self.table(answer, isDevice: device != nil)
            try output.print(rows, columns)
        }
    }

    /// A row for each step and series. Steps without a value are left out.
    static func table(_ answer: JSONValue, isDevice: Bool) -> ([(title: String, path: String)], [JSONValue]) {
        let start = answer["from"]?.string.flatMap { TimeArgument(argument: $0) }?.microseconds(now: 0) ?? 0
        let step = (answer["stepSeconds"]?.int64 ?? 0) * 1_000_000
        // What tells series apart. Only what came as OTLP has a scope and an instance.
        let tags = ["scope", "instance", "attributes"]
        var names: [String] = []
        var rows: [JSONValue] = []
        for series in answer["series"]?.list ?? [] {
            let lists = (isDevice ? series["values"] : series) ?? .null
            guard case .object(let members) = lists else { continue }
            let order = ["devices", "min", "p5", "p25", "p50", "p75", "p95", "max", "mean", "last", "count"]
            let found = members.filter { if case .array = $0.value { true } else { false } }.keys.sorted {
                (order.firstIndex(of: $0) ?? .max, $0) < (order.firstIndex(of: $1) ?? .max, $1)
            }
            for name in found where !names.contains(name) { names.append(name) }
            for index in 0..<(found.map { members[$0]?.list.count ?? 0 }.max() ?? 0) {
                var row: [String: JSONValue] = [:]
                for name in found {
                    let list = members[name]?.list ?? []
                    if index < list.count, list[index] != .null { row[name] = list[index] }
                }
                guard row.contains(where: { $0.key != "devices" && $0.key != "count" || $0.value != 0 }) else {
                    continue
                }
                row["from"] = .text(Timestamp.text(start + Int64(index) * step))
                for name in tags { row[name] = series[name] }
                rows.append(.object(row))
            }
        }
        var columns: [(title: String, path: String)] = [("from", "from")]
        for name in names { columns.append((name, name)) }
        for name in tags where name == "attributes" || rows.contains(where: { $0[name] != nil }) {
            columns.append((name, name))
        }
        return (columns, rows)
    }
}

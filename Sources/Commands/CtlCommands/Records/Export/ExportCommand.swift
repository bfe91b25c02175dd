import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials
import JSON
import TelemetryBasics
import WireModel

/// `ws1ctl export`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes the records of devices to a file, or to standard output.",
        discussion: """
            Beacons come first, then events, then samples, each with the newest received first. Without --device all \
            devices of the organization are meant.

            A collector that is away is asked again for --patience seconds. No line is lost or doubled by that: a page \
            is written once it has come whole. With --output the lines are in FILE.partial until all are there. An \
            export that ended before goes on with --resume, which asks for what it was begun with.

            A line of CSV has the record's body as JSON in its last column. What a spreadsheet would take for a \
            formula gets an apostrophe before it.

            Examples:
              ws1ctl export --device kiosk-7 --since 2d --output kiosk-7.ndjson
              ws1ctl export --kind event --format csv --organization west > events.csv
              ws1ctl export --resume --output kiosk-7.ndjson
            """)

    @Option(
        help: "Only this device: its name, its id, or the first digits of its id. May be given up to 50 times.",
        completion: .devices)
    var device: [String] = []

    @Option(
        help: """
            Only records of this kind: beacon, event, otlp-log, otlp-metrics, or one of a module, such as \
            sample-system.
            """)
    var kind: String?

    @Option(help: "Only samples of this module, such as system.")
    var module: String?

    @Option(help: "Bundle id of the program.")
    var application: String?

    @Flag(help: "Include test devices. Devices that are named are included anyway.")
    var test = false

    @Flag(help: "Samples also have their values as metrics of the catalog.")
    var metrics = false

    @OptionGroup var time: TimeOptions

    @Option(help: "json (a line for each record) or csv.", completion: .list(ExportFormat.allCases.map(\.rawValue)))
    var format: String?

    @Option(help: ArgumentHelp("Write to this new file.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(help: "Go on with an export to --output that ended before it was whole.")
    var resume = false

    @Option(help: ArgumentHelp("How long a collector that is away is asked again.", valueName: "seconds"))
    var patience = 300

    @Flag(help: "Print a summary as JSON at the end. Needs --output.")
    var json = false

    @OptionGroup var collector: CollectorOptions

    func validate() throws {
        if json, output == nil {
            throw ValidationError("--json prints a summary to standard output: give --output FILE for the records")
        }
        guard (0...86_400).contains(patience) else {
            throw ValidationError("--patience is \(patience); expected 0 to 86400 seconds")
        }
        if let format, ExportFormat(rawValue: format) == nil {
            throw ValidationError("--format is \(format); expected json or csv")
        }
        if let kind, ["command-result", "unspecified"].contains(kind) {
            throw ValidationError(
                "--kind is \(kind); expected beacon, event, otlp-log, otlp-metrics, or sample- with a module's kind")
        }
        if let kind, module != nil, !kind.hasPrefix("sample-") {
            throw ValidationError("--module is for samples, and --kind is \(kind): leave out one of them")
        }
        guard resume else { return }
        guard output != nil else {
            throw ValidationError("--resume needs --output FILE, the file that is not whole yet")
        }
        let hasFilter =
            !device.isEmpty || test || metrics || [kind, module, application, format].contains { $0 != nil }
            || time.since != nil || time.until != nil
        if hasFilter {
            throw ValidationError("--resume goes on with what the export was begun with: give no filter and no format")
        }
    }

    func run() async throws {
        try await collector.ask { session in
            var plan: ExportPlan
            if resume, let output {
                plan = try ExportFile.plan(of: output)
                guard plan.collector == session.collector, plan.organization == session.organization else {
                    throw CommandError(
                        .usage,
                        """
                        the export to \(output) was begun at \(plan.collector), organization \
                        \(plan.organization ?? "of the token"), and this is \(session.collector), organization \
                        \(session.organization ?? "of the token"): name that collector, or begin anew
                        """)
                }
            } else {
                plan = ExportPlan(
                    collector: session.collector, organization: session.organization,
                    format: format.flatMap(ExportFormat.init) ?? .json, lists: try await lists(session))
            }
            let file = try resume ? ExportFile(resuming: output ?? "", plan) : ExportFile(beginning: output, plan)
            var run = ExportRun(session: session, plan: plan, patience: .seconds(patience))
            try await run.write(to: file)
            try file.finish()
            try report(run)
        }
    }

    /// The queries of the lists, with devices by their ids and times that stand.
    private func lists(_ session: Session) async throws -> [[[String]]] {
        var query = try time.query + [("application", application)]
        for name in device { query.append(("device", try await session.device(name))) }
        if test || !device.isEmpty { query.append(("test", "true")) }
        if metrics { query.append(("metrics", "true")) }
        let fixed = query.compactMap { item in item.value.map { [item.name, $0] } }
        return streams.map { stream in
            var list = [["stream", stream]] + fixed
            if let kind { list.append(["kind", kind]) }
            if let module { list.append(["module", module]) }
            return list
        }
    }

    /// The streams that have the records.
    var streams: [String] {
        switch kind {
        case "beacon": ["status"]
        case "event", "otlp-log": ["event"]
        case .some: ["sample"]
        case nil: module != nil ? ["sample"] : ["status", "event", "sample"]
        }
    }

    private func report(_ run: ExportRun) throws {
        let missing = run.plan.missing.sorted()
        if json {
            try Output.json(
                JSONValue.object([
                    "file": output.map(JSONValue.text) ?? .null, "format": .text(run.plan.format.rawValue),
                    "records": .integer(run.plan.records), "bytes": .integer(run.plan.bytes),
                    "repeats": .integer(run.repeats), "missing": .array(missing.map(JSONValue.text)),
                ]))
        } else if let output {
            try Output.line("\(output): \(CountText.of(run.plan.records, "record")), \(run.plan.bytes) bytes")
        }
        guard missing.isEmpty else {
            throw CommandError(
                .failed,
                """
                all other records are written, but the collector cannot read \(missing.joined(separator: ", ")). It \
                replaces damaged files within seconds: export again
                """)
        }
    }
}

/// One run of an export: reads page by page, and asks again for a page that did not come.
struct ExportRun {
    let session: Session
    private(set) var plan: ExportPlan
    let patience: Duration
    var pause: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Pages that were asked for again.
    private(set) var repeats: Int64 = 0

    /// Items in one page. The collector ends a page earlier if its records are large.
    private static let pageItems = 500
    /// A page has at most 4 MiB of records, and JSON is larger. Only so much of an export is in memory.
    private static let pageBytes = 64 << 20
    private static let pauses = (first: Duration.milliseconds(250), longest: Duration.seconds(10))

    init(session: Session, plan: ExportPlan, patience: Duration) {
        (self.session, self.plan, self.patience) = (session, plan, patience)
    }

    mutating func write(to file: borrowing ExportFile) async throws {
        if plan.bytes == 0 {
            let head = ExportText.head(plan.format)
            plan.bytes = Int64(head.count)
            try file.append(head, plan)
        }
        while !plan.isComplete {
            let page = try await page()
            guard case .array(let items)? = page["items"] else {
                throw CommandError(.failed, "the collector answered with what is no list of records")
            }
            let lines = try ExportText.lines(items, plan.format)
            let next = page["next"]?.string
            guard next == nil || next != plan.cursor else {
                throw CommandError(.failed, "the collector repeats a page of its list for ever")
            }
            plan.bytes += Int64(lines.count)
            plan.records += Int64(items.count)
            plan.missing.formUnion((page["missing"]?.list ?? []).compactMap(\.string))
            plan.cursor = next
            if next == nil { plan.list += 1 }
            try file.append(lines, plan)
        }
    }

    private mutating func page() async throws -> JSONValue {
        var call = CollectorCall(.get, "records", query: plan.lists[plan.list].map { (name: $0[0], value: $0[1]) })
        call.query.append(("limit", "\(Self.pageItems)"))
        if let cursor = plan.cursor { call.query.append(("cursor", cursor)) }
        call.maximumAnswerBytes = Self.pageBytes
        var (waited, next) = (Duration.zero, Self.pauses.first)
        while true {
            do { return try await session.json(call) } catch let error as CollectorClientError {
                guard error.code == .tryAgain, waited < patience else { throw error }
                let length = min(next, patience - waited)
                try await pause(length)
                waited += length
                next = min(next * 2, Self.pauses.longest)
                repeats += 1
            }
        }
    }
}

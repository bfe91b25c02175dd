import ArgumentParser
import CollectorAPI
import CollectorClient
import CommandKit
import TelemetryBasics
import WireModel

struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request", abstract: "Asks a device, through its collector, to send logs.",
        discussion: """
            The device learns of the request with the next answer of its collector. It selects the lines itself, and \
            sends them when its rules for the network allow it. A device with nothing to send asks at its beacon \
            interval, at least every 15 min; standard error says when it is expected. The id of the request is printed \
            at once. --mode snapshot asks for the lines that are there; capture for lines that are logged from then \
            on, for --capture-seconds, at the given level.

            Without --device, --application asks the devices of that application, and --organization those of an \
            organization: the collector works the request off as a job, after a confirmation. \
            `GET /api/v1/device-jobs/ID` and the console show how far it is; `fetch --application` gets what came.

            --wait waits until the request has ended; the exit code is 0 if it is done, 1 if it failed or expired, 75 \
            if --wait-limit is over. After an interruption the request goes on; wait for it again with --id ID --wait. \
            --fetch then writes the lines as fetch --chunks does.
            """)

    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case snapshot, capture
    }

    @Option(
        help: ArgumentHelp(
            "Lines that are there now (snapshot), or lines that are logged for a while (capture).", valueName: "mode"))
    var mode: Mode = .snapshot

    @Option(help: ArgumentHelp("How long a capture lasts, 1 to 86400.", valueName: "n"))
    var captureSeconds: Int?

    @Option(
        help: ArgumentHelp(
            "At most this many bytes of text, the newest lines; by default only the device sets a limit.",
            valueName: "bytes"))
    var maximumBytes: Int?

    @Option(
        help: ArgumentHelp("How long the request waits for the device: 1s to 30d.", valueName: "time"))
    var expires = SpanArgument(seconds: 86_400)

    @Option(
        help: ArgumentHelp(
            "The id of an earlier request: shows its state, or waits for it.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("Ends the request with this id.", valueName: "id"))
    var cancel: String?

    @Flag(help: "Wait until it has ended.")
    var wait = false

    @Option(
        help: ArgumentHelp("Wait no longer than this: 90s, 15m, 2h; by default until the end.", valueName: "time"))
    var waitLimit: SpanArgument?

    @Flag(help: "Wait, then fetch the lines that the device sent, in chunk files with a manifest.")
    var fetch = false

    @Option(
        help: ArgumentHelp(
            """
            With --fetch: an empty directory, or one with an interrupted fetch. It is created if missing; by default \
            the current one.
            """,
            valueName: "dir")
    )
    var output: String?

    @Flag(help: "With --fetch: compress.")
    var gzip = false

    @Flag(help: "With --fetch: overwrite existing files.")
    var force = false

    @Flag(help: "Print the final state of the request as JSON; with --fetch the manifest.")
    var json = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var filter: FilterOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    func validate() throws {
        guard id == nil || cancel == nil else {
            throw ValidationError("--id and --cancel exclude each other: give one")
        }
        guard mode == .snapshot || filter.type != .crash else {
            throw ValidationError("crashes cannot be captured: ask for a snapshot of them")
        }
        guard (mode == .capture) == (captureSeconds != nil) || id != nil || cancel != nil else {
            throw ValidationError("--capture-seconds goes with --mode capture, and --mode capture with it")
        }
        guard captureSeconds.map({ (1...86_400).contains($0) }) ?? true else {
            throw ValidationError("--capture-seconds is \(captureSeconds!), must be 1 to 86400")
        }
        guard maximumBytes.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--maximum-bytes is \(maximumBytes!), must be more than 0")
        }
        guard cancel == nil || !(wait || fetch) else {
            throw ValidationError("--cancel does not wait: to wait for the request, give --id")
        }
        guard fetch || output == nil && !gzip && !force else {
            throw ValidationError("--output, --gzip and --force go with --fetch")
        }
        guard waitLimit == nil || wait || fetch else {
            throw ValidationError("--wait-limit goes with --wait or --fetch")
        }
        for text in [id, cancel].compactMap({ $0 }) where RequestID(text) == nil {
            throw ValidationError("\(text) is not the id of a request (a UUID)")
        }
    }

    func run() async throws {
        let settings = try SettingLayers<LogSettings>(flags: collector.given).read()
        let isOfOne = id != nil || cancel != nil || wait || fetch || settings.device != nil
        if !isOfOne, filter.application.identifier != nil || settings.organization != nil {
            return try await requestOfMany()
        }
        try await collector.askDevice { client, device in
            let route = "/api/v1/devices/\(device)/commands"
            var command: CommandView
            if let id {
                command = try await client.get("\(route)/\(id)")
            } else {
                command = try await client.post(route, try request(device), key: "ws1log-\(RequestID.random())")
            }
            if !json {
                try Output.line(id == nil ? command.id : "\(command.id) \(RequestStanding(command).text)")
            }
            let expected = await DeviceExpectation.of(command, device, client)
            if !json, let expected { StandardError.warn(expected.text(now: SystemClock.wallMicroseconds())) }
            if wait || fetch {
                let wait = RequestWait(
                    id: command.id, device: device, client: client, limitSeconds: waitLimit?.seconds, isQuiet: json,
                    expected: expected)
                command = try await wait.run(from: command)
            }
            if fetch { return try await fetch(command, device, client) }
            if json { try Output.json(command) }
        }
    }

    private func requestOfMany() async throws {
        try await collector.ask { client, _ in
            let job = RequestJob(request: try request(nil), application: filter.application.identifier)
            let id = try await job.begin(client, confirmation)
            if json { try Output.json(["job": id]) } else { try Output.line("job \(id)") }
        }
    }

    /// - Parameter device: `nil` for many devices.
    private func request(_ device: DeviceID?) throws -> CommandRequest {
        var arguments = CommandArguments()
        if let cancel {
            arguments.command = cancel
            return CommandRequest(kind: "cancel", arguments: arguments)
        }
        let now = SystemClock.wallMicroseconds()
        // Fails for a filter that the collector would not accept when the lines are fetched.
        _ = try LogQuery(LogScope(device: device), type: "all", lines: filter.filter(now: now))
        arguments.mode = mode.rawValue
        arguments.application = filter.application.identifier
        arguments.type = filter.type.rawValue
        arguments.level = filter.levelArgument?.level.name
        arguments.since = filter.since.map { Timestamp.text($0.microseconds(now: now)) }
        arguments.until = filter.until.map { Timestamp.text($0.microseconds(now: now)) }
        arguments.captureSeconds = captureSeconds
        arguments.maximumBytes = maximumBytes
        arguments.categories = filter.category.isEmpty ? nil : filter.category
        arguments.text = filter.text.isEmpty ? nil : filter.text
        arguments.includeVerboseRing = filter.ring ? true : nil
        return CommandRequest(kind: "request-logs", arguments: arguments, expiresInSeconds: expires.seconds)
    }

    /// Fetches all lines that the request brought. The device has filtered them already.
    private func fetch(_ command: CommandView, _ device: DeviceID, _ client: CollectorClient) async throws {
        let request = RemoteFetchHead.Request(
            collector: client.name, scope: RemoteFetchHead.Scope(LogScope(device: device)), command: command.id,
            isCompressed: gzip, application: nil, deviceName: nil,
            type: TypeArgument.all.rawValue, level: .verbose, since: nil, until: nil, categories: [], text: "")
        do {
            try await RemoteFetch.run(
                request, LogFilter(), LogQuery(LogScope(device: device)), client,
                into: ChunkFolder(path: output ?? ".", isForced: force),
                isJSON: json)
        } catch let error as CollectorClientError where error.code == .tryAgain {
            // Without --id, the same command line would make another request.
            throw CommandError(
                .tryAgain, "\(error.message); go on with: ws1log request --id \(command.id) --fetch", cause: error)
        }
    }
}

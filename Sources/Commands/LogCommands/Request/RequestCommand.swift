import ArgumentParser
import CollectorAPI
import CollectorClient
import FoundationEssentials
import LogStore
import TelemetryBasics
import WireModel

struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request", abstract: "Asks a device, through its collector, to send logs.",
        discussion: """
            The device gets to know of it with its next answer from the collector, looks for the lines itself, and sends them as its rules for the \
            network allow. A device with nothing to send asks at its beacon interval, at least every 15 min; standard error says when it is \
            expected. The id of the request is printed at once. --mode snapshot asks for what is there; capture for what is logged from then \
            on, for --seconds, at the level asked for.

            --wait follows a request to its end: 0 done, 1 failed or expired, 75 when --wait-limit is over. An interruption leaves the request as \
            it is; --id ID --wait goes on. --fetch then writes what it brought as fetch --chunks does.
            """)

    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case snapshot, capture
    }

    @Option(
        help: ArgumentHelp("What is there now (snapshot), or what is logged for a while (capture).", valueName: "mode"))
    var mode: Mode = .snapshot

    @Option(help: ArgumentHelp("How long a capture lasts, 1 to 86400.", valueName: "n"))
    var seconds: Int?

    @Option(
        help: ArgumentHelp(
            "At most so many bytes of text, the newest; default no limit but the device's.", valueName: "n"))
    var bytes: Int?

    @Option(
        help: ArgumentHelp("How long the request stands, if the device is not there: 1s to 30d.", valueName: "time"))
    var expires: SpanArgument = .seconds(86_400)

    @Option(
        help: ArgumentHelp(
            "Of a request that was made: shows how it stands, or goes on waiting for it.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("Ends a request.", valueName: "id"))
    var cancel: String?

    @Flag(help: "Wait until it has ended.")
    var wait = false

    @Option(
        help: ArgumentHelp("Wait no longer than this: 90s, 15m, 2h; default as long as it takes.", valueName: "time"))
    var waitLimit: SpanArgument?

    @Flag(help: "Wait, then fetch what it brought, in chunk files with a manifest.")
    var fetch = false

    @Option(
        help: ArgumentHelp(
            "With --fetch: a directory, made if missing, empty but for an interrupted fetch; the current one by default.",
            valueName: "dir")
    )
    var output: String?

    @Flag(help: "With --fetch: compress.")
    var gzip = false

    @Flag(help: "With --fetch: overwrite what is there.")
    var force = false

    @Flag(help: "Print the request as JSON as it stands at the end; with --fetch the manifest.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    func validate() throws {
        guard id == nil || cancel == nil else {
            throw ValidationError("--id and --cancel are of different requests: give one")
        }
        guard (mode == .capture) == (seconds != nil) || id != nil || cancel != nil else {
            throw ValidationError("--seconds goes with --mode capture, and --mode capture with it")
        }
        guard seconds.map({ (1...86_400).contains($0) }) ?? true else {
            throw ValidationError("--seconds is \(seconds!), must be 1 to 86400")
        }
        guard bytes.map({ $0 > 0 }) ?? true else { throw ValidationError("--bytes is \(bytes!), must be more than 0") }
        guard cancel == nil || !(wait || fetch) else {
            throw ValidationError("--cancel waits for nothing: follow the request with --id")
        }
        guard fetch || output == nil && !gzip && !force else {
            throw ValidationError("--output, --gzip and --force go with --fetch")
        }
        guard waitLimit == nil || wait || fetch else {
            throw ValidationError("--wait-limit goes with --wait or --fetch")
        }
        for text in [id, cancel].compactMap({ $0 }) where RequestID(text) == nil {
            throw ValidationError("\(text) is no request's id (a UUID)")
        }
    }

    func run() async throws {
        try await collector.access().ask { client, device in
            let route = "/api/v1/devices/\(device)/commands"
            var command: CommandView
            if let id {
                command = try await client.get("\(route)/\(id)")
            } else {
                command = try await client.post(route, try request(device), key: "ws1log-\(RequestID.random())")
            }
            var output = StandardOutput()
            if !json {
                try output.line(id == nil ? command.id : "\(command.id) \(RequestStanding(command).text)")
                try output.flush()
            }
            let expected = await DeviceExpectation.of(command, device, client)
            if !json, let expected { StandardError.warn(expected.text(now: SystemClock.wallMicroseconds())) }
            if wait || fetch {
                let wait = RequestWait(
                    command.id, of: device, client, limitSeconds: waitLimit?.seconds, isQuiet: json, expected: expected)
                command = try await wait.run(from: command)
            }
            if fetch { return try await fetch(command, device, client) }
            if json {
                try output.json(command)
                try output.flush()
            }
        }
    }

    private func request(_ device: DeviceID) throws -> CommandRequest {
        var arguments = CommandArguments()
        if let cancel {
            arguments.command = cancel
            return CommandRequest(kind: "cancel", arguments: arguments)
        }
        let now = SystemClock.wallMicroseconds()
        // Refuses what a collector could not be asked for afterwards.
        _ = try LogQuery(device, type: "all", lines: filter.filter(now: now))
        arguments.mode = mode.rawValue
        arguments.type = filter.type.rawValue
        arguments.level = filter.level.name
        arguments.since = filter.since.map { Timestamp.text($0.microseconds(now: now)) }
        arguments.until = filter.until.map { Timestamp.text($0.microseconds(now: now)) }
        arguments.captureSeconds = seconds
        arguments.maximumBytes = bytes
        arguments.categories = filter.category.isEmpty ? nil : filter.category
        arguments.text = filter.text.isEmpty ? nil : filter.text
        arguments.includeVerboseRing = filter.ring ? true : nil
        return CommandRequest(kind: "request-logs", arguments: arguments, expiresInSeconds: expires.seconds)
    }

    /// What it brought, as it was brought: the device has filtered.
    private func fetch(_ command: CommandView, _ device: DeviceID, _ client: CollectorClient) async throws {
        let request = RemoteFetchHead.Request(
            collector: client.name, device: "\(device)", command: command.id, isCompressed: gzip,
            application: nil, deviceName: nil,
            type: TypeArgument.all.rawValue, level: .verbose, since: nil, until: nil, categories: [], text: "")
        do {
            try await RemoteFetch.run(
                request, LogFilter(), LogQuery(device), client,
                into: ChunkFolder(path: output ?? ".", isForced: force),
                isJSON: json)
        } catch let error as CollectorClientError where error.code == .tryAgain {
            // The same command line again would be another request.
            throw LogCommandError(
                .tryAgain, "\(error.message); go on with: ws1log request --id \(command.id) --fetch", cause: error)
        }
    }
}

import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import WireModel

struct EventCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "event", abstract: "Records an event, and waits until it is synced to disk.",
        discussion: """
            A running agent records the event. If no agent runs, the event waits in the data directory for the next \
            run. The output says when the event will be sent: the event hold is two hours unless --event-hold or the \
            profile sets another. Put -- before a value that begins with a dash, at the end: ws1agent event \
            temperature --type double -- -3.5
            """)

    @Argument(help: "The event's name, 1 to 256 bytes.")
    var name: String

    @Argument(help: "The value, in the form that --type asks for.")
    var value: String

    @Option(help: "string, integer, double, boolean (true, false) or date (ISO 8601).")
    var type: String = EventValueType.string.rawValue

    @Option(
        name: .customLong("attribute"), help: ArgumentHelp("A text attribute; may be repeated.", valueName: "key=value")
    )
    var attributes: [String] = []

    @Option(
        help: ArgumentHelp(
            "Bundle id of the program whose event it is; the agent's own without it.", valueName: "bundle-id"))
    var application: String?

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        let event = try event()
        var request = WireControlRequest()
        request.event.event = event.message
        request.event.application = application ?? ""
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            try .event(try await sampler.record(event, of: application), EventPlan(try await sampler.status()))
        }
        let plan = EventPlan(answer)
        try Output.outcome(
            EventPlan.text(number: answer.number, plan), EventOutcome(number: answer.number, plan: plan),
            asJSON: options.json)
    }

    func event() throws(CommandError) -> AnalyticsEvent {
        guard let type = EventValueType(rawValue: type) else {
            let names = EventValueType.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError(.usage, "--type is '\(type)': it must be one of \(names)")
        }
        let values = try KeyedValues.read(attributes, option: "--attribute").mapValues { EventValue.string($0) }
        do { return try AnalyticsEvent(name: name, value: EventValue(value, type: type), attributes: values) } catch {
            throw CommandError(error)
        }
    }
}

struct BeaconCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beacon", abstract: "Records a status beacon, and waits until it is synced to disk.",
        discussion: """
            A running agent sends the beacon at once. If no agent runs, the beacon waits in the data directory for the \
            next run. With --wait the command needs a running agent and ends when the collector has stored the beacon; \
            otherwise it says what stands in the way, and the exit code is 75.
            """)

    @OptionGroup var delivery: DeliveryOptions
    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        var request = WireControlRequest()
        request.beacon = WireControlBeacon()
        request.beacon.waitSeconds = delivery.seconds
        guard !delivery.wait else {
            let answer = try await access.ask(request, waitingSeconds: delivery.seconds)
            return try Output.outcome(
                "beacon \(answer.number) is stored by the collector",
                BeaconOutcome(number: answer.number, isStored: true), asJSON: options.json)
        }
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            .numbered(try await sampler.sendBeacon())
        }
        try Output.outcome(
            "beacon \(answer.number)", BeaconOutcome(number: answer.number, isStored: false), asJSON: options.json)
    }
}

private struct EventOutcome: Encodable {
    /// In its stream.
    var number: UInt64
    var plan: EventPlan?
}

private struct BeaconOutcome: Encodable {
    /// In its stream.
    var number: UInt64
    /// Whether the collector has acknowledged it; `false` also if nobody waited for that.
    var isStored: Bool
}

/// Options of commands that can wait for the collector.
struct DeliveryOptions: ParsableArguments {
    @Flag(help: "End when the collector has acknowledged it, or with exit code 75 after --wait-limit.")
    var wait = false

    @Option(help: ArgumentHelp("With --wait: wait no longer than this: 90s, 15m; 1s to 1h.", valueName: "time"))
    var waitLimit = SpanArgument(seconds: 30)

    /// 0: no wait.
    var seconds: UInt32 { wait ? UInt32(clamping: waitLimit.seconds) : 0 }

    func validate() throws {
        guard (1...3600).contains(waitLimit.seconds) else { throw ValidationError("--wait-limit must be 1s to 1h") }
    }
}

/// When a recorded event will be sent, as far as it is known.
struct EventPlan: Codable, Equatable {
    /// The event hold.
    var holdSeconds: Double
    /// Whether an agent runs. Without one nothing is sent.
    var running: Bool
    /// Any other reason why the event cannot be sent now; `nil` if none is known.
    var obstacle: String?

    init(holdSeconds: Double, running: Bool, obstacle: String? = nil) {
        self.holdSeconds = holdSeconds
        self.running = running
        self.obstacle = obstacle
    }

    init(_ status: DataSamplerStatus) {
        holdSeconds = status.eventHold
        running = status.running
        if status.consent == "pending" { obstacle = "consent is not decided" }
        guard running else { return }
        let collector = status.collector
        if !status.enrollment.enrolled {
            obstacle = "this device is not enrolled: \(status.enrollment.reason ?? "unknown")"
        } else if let gate = collector.gates["event"] {
            obstacle = gate
        } else if collector.reachable == false {
            obstacle = "the collector is not reachable: \(collector.lastFailureReason ?? "unknown")"
        }
    }

    /// `nil` if the agent is of an earlier version and gave no plan.
    init?(_ answer: WireControlAnswer) {
        guard let plan = try? JSONDecoder().decode(EventPlan.self, from: answer.json) else { return nil }
        self = plan
    }

    /// - Parameter number: the event's number in its stream.
    static func text(number: UInt64, _ plan: EventPlan?, now: Date = Date()) -> String {
        guard let plan else { return "event \(number)" }
        var words: String
        if plan.holdSeconds > 0 {
            let due = Date(timeIntervalSince1970: (now.timeIntervalSince1970 + plan.holdSeconds).rounded(.up))
            words = "held until \(due.ISO8601Format()) (for \(DurationText.of(seconds: plan.holdSeconds))), then sent"
            words += plan.running ? " with the next transmit" : " by the next run of the agent"
        } else if plan.obstacle != nil {
            words = "waits"
        } else {
            words = plan.running ? "sent now" : "sent by the next run of the agent"
        }
        if let obstacle = plan.obstacle { words += ". It cannot be sent now: \(obstacle)" }
        return "event \(number): on disk; \(words)"
    }
}

extension WireControlAnswer {
    static func event(_ number: UInt64, _ plan: EventPlan) throws(DataSamplerError) -> WireControlAnswer {
        var answer = try json(plan)
        answer.number = number
        return answer
    }
}

/// Options of the form `key=value`, each key once.
enum KeyedValues {
    /// - Parameter option: the option's name, for error messages.
    static func read(_ texts: [String], option: String) throws(CommandError) -> [String: String] {
        var values: [String: String] = [:]
        for text in texts {
            guard let separator = text.firstIndex(of: "="), separator > text.startIndex else {
                throw CommandError(.usage, "\(option) must be KEY=VALUE")
            }
            let key = String(text[..<separator])
            guard values.updateValue(String(text[text.index(after: separator)...]), forKey: key) == nil else {
                throw CommandError(.usage, "\(option) \(key) is given twice")
            }
        }
        return values
    }
}

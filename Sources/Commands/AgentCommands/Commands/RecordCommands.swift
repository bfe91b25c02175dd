import ArgumentParser
import DataSampler
import WireModel

struct EventCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "event", abstract: "Records an event; done once it is on synced disk.",
        discussion: """
            A running agent takes it; where one has run before, it waits in the data directory for the next run. The answer says when it will be sent: an \
            event is held for two hours unless --event-hold or the profile says otherwise. A value that begins with a dash goes \
            behind two of them, last: ws1agent event temperature --type double -- -3.5
            """)

    @Argument(help: "The event's name, 1 to 256 bytes.")
    var name: String

    @Argument(help: "Its value, read as its type says.")
    var value: String

    @Option(help: "string, integer, double, boolean (true, false) or date (ISO 8601).")
    var type: String = EventValueType.string.rawValue

    @Option(name: .customLong("attribute"), help: ArgumentHelp("A text attribute; may be repeated.", valueName: "key=value"))
    var attributes: [String] = []

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        let event = try event()
        var request = WireControlRequest()
        request.event.event = event.message
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            try .event(try await sampler.record(event), EventPlan(try await sampler.status()))
        }
        StandardStreams.output(EventPlan.text(number: answer.number, EventPlan(answer)))
    }

    func event() throws(AgentError) -> AnalyticsEvent {
        guard let type = EventValueType(rawValue: type) else {
            let names = EventValueType.allCases.map(\.rawValue).joined(separator: ", ")
            throw AgentError(.usage, "--type is '\(type)': it must be one of \(names)")
        }
        let values = try KeyedValues.read(attributes, option: "--attribute").mapValues { EventValue.string($0) }
        do { return try AnalyticsEvent(name: name, value: EventValue(value, type: type), attributes: values) } catch {
            throw AgentError(error)
        }
    }
}

struct BeaconCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beacon", abstract: "Sends the device's status; done once it is on synced disk.",
        discussion:
            "A running agent sends it at once; where one has run before, it waits in the data directory for the next run."
    )

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        var request = WireControlRequest()
        request.beacon = WireControlBeacon()
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in .numbered(try await sampler.sendBeacon()) }
        StandardStreams.output("beacon \(answer.number)")
    }
}

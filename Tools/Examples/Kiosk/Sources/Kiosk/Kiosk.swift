import DataSampler
import DataSamplerMetrics
import Metrics

/// A kiosk that prints badges, with telemetry of its own: the article "Embed the sampler" as a program.
///
///     swift run Kiosk COLLECTOR-URL ENROLLMENT-TOKEN DATA-DIRECTORY
///
/// A collector on this machine is one line, and writes the token it wants to its data directory:
///
///     ws1collector serve --data /tmp/collector
///     swift run Kiosk http://127.0.0.1:8420 "$(cat /tmp/collector/enrollment-token)" /tmp/kiosk
@main
struct Kiosk {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { fatalError("usage: Kiosk COLLECTOR-URL ENROLLMENT-TOKEN DATA-DIRECTORY") }

        var configuration = DataSamplerConfiguration(
            directory: arguments[3], collectorURL: arguments[1], enrollmentToken: arguments[2])
        configuration.applicationIdentifier = "com.example.kiosk"
        configuration.applicationVersion = "4.2"
        // So that everything shows at once. Left out, these are the profile's to say: two hours, a minute, five
        // minutes.
        configuration.eventHold = 0
        configuration.defaultSampleInterval = 1
        configuration.defaultTransmitInterval = 1

        let sampler = try DataSampler(configuration: configuration)

        // What only this program knows, and what it counts and times with swift-metrics anyway, becomes samples.
        try await sampler.register(Printer())
        let metrics = SampledMetrics(name: "kiosk.metrics")
        MetricsSystem.bootstrap(metrics)
        try await sampler.register(metrics)

        try await sampler.start()

        // A new device first hears from the collector what may be recorded. From then on it knows, also without a
        // network.
        let profile = try await sampler.firstProfile(within: .seconds(30))
        guard case .atHand = profile else {
            await sampler.stop()
            fatalError("no events can be recorded yet: \(profile)")
        }

        // A person is served.
        try sampler.beginSession()
        let sheets = Counter(label: "kiosk.sheets")
        for badge in 1...3 {
            sheets.increment()
            try await sampler.recordEvent(
                eventName: "badge.printed", eventValue: .integer(Int64(badge)), attributes: ["printer": .string("left")]
            )
        }
        try await sampler.recordEvent(eventName: "payment.failed", eventValue: .string("timeout"), durability: .durable)
        try await sampler.recordUsage(.sdkAction("badges.print", .succeeded, duration: .milliseconds(12)))
        try sampler.endSession()

        try await sampler.startSendingDeviceStatusBeacon(transmitFrequency: 900)

        // A kiosk lives on; this one ends when the collector has said that it stored what was recorded.
        repeat { try await Task.sleep(for: .milliseconds(200)) } while try await !hasArrived(sampler)
        await sampler.stop()
    }

    /// Prints what each stream holds once every module of ours has been sampled and nothing but samples, which keep
    /// coming, waits.
    static func hasArrived(_ sampler: DataSampler) async throws -> Bool {
        let status = try await sampler.status()
        guard status.modules.allSatisfy({ !$0.isCustom || $0.samples > 0 }),
            status.streams.allSatisfy({ $0.name == "sample" || $0.waiting == 0 })
        else { return false }
        for (name, stream) in try await sampler.balance().streams.sorted(by: { $0.key < $1.key }) {
            print("\(name): \(stream.produced) produced, \(stream.stored) stored, \(stream.waiting) waiting")
        }
        return true
    }
}

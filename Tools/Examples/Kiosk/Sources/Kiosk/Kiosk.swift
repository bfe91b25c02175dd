import DataSampler
import DataSamplerMetrics
import Metrics

/// A kiosk that prints badges: an application with telemetry of its own, for a minute in the life of a device.
///
///     Kiosk COLLECTOR-URL ENROLLMENT-TOKEN DATA-DIRECTORY
@main
struct Kiosk {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { fatalError("usage: Kiosk COLLECTOR-URL ENROLLMENT-TOKEN DATA-DIRECTORY") }

        // What the program counts and times anyway becomes samples.
        let metrics = SampledMetrics(name: "kiosk.metrics", sampleInterval: 1)
        MetricsSystem.bootstrap(metrics)

        var configuration = DataSamplerConfiguration(directory: arguments[3], collectorURL: arguments[1], enrollmentToken: arguments[2])
        configuration.applicationIdentifier = "com.example.kiosk"
        configuration.applicationVersion = "4.2"
        // So that what is recorded shows at once; an application leaves the two hours to the profile.
        configuration.eventHold = 0
        configuration.defaultSampleInterval = 1
        configuration.defaultTransmitInterval = 1

        let sampler = try DataSampler(configuration: configuration)
        try await sampler.register(metrics)
        try await sampler.register(Printer())
        let notices = sampler.notices
        try await sampler.start()

        // Nothing may be recorded of people before the organization's profile has said so.
        for await notice in notices where notice.kind == .profileApplied { break }

        try sampler.beginSession()
        let sheets = Counter(label: "kiosk.sheets")
        for badge in 1...3 {
            sheets.increment()
            try await sampler.recordEvent(
                eventName: "badge.printed", eventValue: .integer(Int64(badge)), attributes: ["printer": .string("left")],
                durability: .durable)
        }
        try await sampler.recordUsage(.sdkAction("badges.print", .succeeded, duration: .milliseconds(12)))
        try sampler.endSession()
        try await sampler.sendBeacon()

        // A kiosk lives on; this one waits until what it recorded has arrived.
        while try await sampler.balance().streams.contains(where: { $0.key != "sample" && $0.value.waiting > 0 }) {
            try await Task.sleep(for: .milliseconds(200))
        }
        for (name, stream) in try await sampler.balance().streams.sorted(by: { $0.key < $1.key }) {
            print("\(name): \(stream.produced) produced, \(stream.stored) stored, \(stream.waiting) waiting")
        }
        await sampler.stop()
    }
}

/// What only this program knows.
struct Printer: CustomSampleModule {
    let name = "kiosk.printer"
    let sampleInterval: Double? = 1

    func sample() async throws -> [SampleMeasurement] {
        [SampleMeasurement(name: "kiosk.printer.sheets", unit: "{sheet}", attributes: ["tray": "1"], value: .integer(97))]
    }
}

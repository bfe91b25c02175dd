import ArgumentParser
import CommandKit
import Foundation
import MQTTClient
import TelemetryBasics
import WireModel

/// `fleet-simulator`: a tool for tests of a collector, which nobody ships.
package struct FleetSimulatorCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "fleet-simulator",
        abstract:
            "Let a fleet of simulated devices send to a collector, with faults, and check every record afterwards.",
        discussion: """
            The devices enroll, make samples, events and beacons on a schedule, and send like real devices. Their \
            clocks are wrong, their requests
            get lost, cut, repeated, reordered and damaged, and their disks go back to old images. In the middle of \
            the run no device reaches the
            collector; then all reach it at once. In the end the command asks the collector for its records: every \
            acknowledged record must exist
            exactly once. Exits 1 on any difference. The devices are test devices, which views, summaries and quotas \
            leave out unless asked. They and their records stay in the collector, so use one that is made for tests.

            Each device enrolls once, so the enrollment token must allow as many uses as there are devices.

            Faults: \(FleetFault.allCases.map(\.rawValue).joined(separator: ", ")).

            Examples:
              ws1collector token create --enrollment --uses 1200 --data DIR > fleet-token
              fleet-simulator --collector http://127.0.0.1:8420 --enrollment-token-file fleet-token \\
                --token-file DIR/administrator-token --devices 1000 --seconds 120
              fleet-simulator --collector http://127.0.0.1:8420 --enrollment-token-file fleet-token \\
                --token-file DIR/administrator-token --devices 200 --seconds 600 --speed 0 --faults \
            lost-answer,rollback --json
            """)

    @Option(help: ArgumentHelp("The collector's address.", valueName: "url"))
    var collector: String

    @Option(
        help: ArgumentHelp(
            """
            Address of a message broker through which the devices send: mqtt[s]://BROKER[:PORT]/PREFIX. It must admit \
            the clients fleet-1 to fleet-8 without a password.
            """, valueName: "url"))
    var broker: String?

    @Option(help: ArgumentHelp("File with an enrollment token.", valueName: "file"))
    var enrollmentTokenFile: String

    @Option(help: ArgumentHelp("File with an access token of any role, for the check at the end.", valueName: "file"))
    var tokenFile: String

    @Option(help: ArgumentHelp("Number of devices, 1 to 100000.", valueName: "n"))
    var devices = 100

    @Option(help: ArgumentHelp("Duration in the fleet's own time, 1 to 86400.", valueName: "s"))
    var seconds = 60

    @Option(help: ArgumentHelp("The same seed makes the same records and faults, with new devices.", valueName: "n"))
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("`all`, `none`, or a list separated by commas.", valueName: "faults"))
    var faults = "all"

    @Option(
        help: ArgumentHelp(
            "Seconds of fleet time per second, 0.001 to 10000, or 0: as fast as the collector answers.",
            valueName: "factor"))
    var speed = 1.0

    @Option(help: ArgumentHelp("Seconds between a device's samples.", valueName: "s"))
    var sampleInterval = 5

    @Option(help: ArgumentHelp("Seconds between a device's transmissions.", valueName: "s"))
    var transmitInterval = 15

    @Option(help: ArgumentHelp("Seconds between a device's beacons.", valueName: "s"))
    var beaconInterval = 60

    @Option(help: ArgumentHelp("The most requests in flight.", valueName: "n"))
    var concurrency = 256

    @Flag(
        help: "Allow plain http:// or mqtt:// to another machine. Anybody on the network path can then read the tokens."
    )
    var allowPlaintext = false

    @Flag(help: "Leave out the outage in the middle of the run.")
    var noOutage = false

    @Flag(help: "Print JSON.")
    var json = false

    package init() {}

    /// Call it on the main thread, before another thread exists.
    package static func runAndExit() -> Never { Program.runAndExit(Self.self) }

    package func run() async throws {
        let transport = try transport()
        let outcome: Result<FleetReport, any Error>
        do {
            var fleet = FleetRun(
                try plan(), transport: transport,
                enrollmentToken: try Self.token(enrollmentTokenFile, "--enrollment-token-file"),
                personToken: try Self.token(tokenFile, "--token-file"), start: SystemClock.wallMicroseconds())
            try await fleet.check()
            outcome = .success(try await fleet.run())
        } catch let error as FleetUnready { outcome = .failure(refusal(error)) } catch { outcome = .failure(error) }
        await transport.shutdown()
        let report = try outcome.get()
        if json { try Output.json(report) } else { try show(report) }
        guard report.isRight else {
            throw CommandError(.failed, "The collector's records differ from those it acknowledged; see the report.")
        }
    }

    private func refusal(_ error: FleetUnready) -> CommandError {
        switch error {
        case .unreachable:
            CommandError(
                .tryAgain,
                "\(collector) does not answer: no collector listens there, or it cannot be reached from here.")
        case .refused(.person, let status):
            CommandError(
                .failed,
                """
                \(collector) refuses the token in \(tokenFile) (HTTP \(status)). Give an access token, at least a \
                viewer's.
                """
            )
        case .refused(.enrollment, let status):
            CommandError(
                .failed,
                """
                \(collector) refuses the enrollment token in \(enrollmentTokenFile) (HTTP \(status)): unknown, \
                expired, revoked or used up.
                """
            )
        }
    }

    private func transport() throws -> any FleetTransport {
        let people = try HTTPFleetTransport(collector: url(), connections: concurrency)
        guard let broker else { return people }
        do throws(MQTTError) {
            return try BrokerFleetTransport(
                people: people, broker: try MQTTAddress(broker, what: "--broker"), allowsPlaintext: allowPlaintext)
        } catch { throw CommandError(.usage, error.message, cause: error) }
    }

    private func url() throws -> String {
        guard let url = URL(string: collector), url.scheme == "http" || url.scheme == "https", let host = url.host(),
            url.query() == nil
        else {
            throw CommandError(.usage, "--collector is \(collector); expected a URL such as http://127.0.0.1:8420.")
        }
        guard url.scheme == "https" || allowPlaintext || LoopbackHost.contains(host) else {
            throw CommandError(
                .usage,
                "\(collector) is on another machine, and without TLS anybody on the network path can read the tokens. "
                    + "Give an https:// address, or --allow-plaintext.")
        }
        return collector.hasSuffix("/") ? String(collector.dropLast()) : collector
    }

    func plan() throws -> FleetPlan {
        func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
            guard range.contains(value) else {
                throw CommandError(.usage, "\(name) is \(value); expected \(range.lowerBound) to \(range.upperBound).")
            }
        }
        try check("--devices", devices, 1...100_000)
        try check("--seconds", seconds, 1...86_400)
        try check("--sample-interval", sampleInterval, 1...86_400)
        try check("--transmit-interval", transmitInterval, 1...86_400)
        try check("--beacon-interval", beaconInterval, 1...86_400)
        try check("--concurrency", concurrency, 1...10_000)
        guard speed == 0 || (0.001...10_000).contains(speed) else {
            throw CommandError(.usage, "--speed is \(speed); expected 0, or 0.001 to 10000.")
        }
        var plan = FleetPlan(devices: devices, seconds: seconds)
        plan.seed = seed
        plan.run = .random(in: 1 ... .max)
        plan.speed = speed
        plan.sampleInterval = sampleInterval
        plan.transmitInterval = transmitInterval
        plan.beaconInterval = beaconInterval
        plan.concurrency = concurrency
        plan.hasOutage = !noOutage
        switch faults {
        case "all": break
        case "none": plan.faults = []
        default:
            plan.faults = []
            for name in faults.split(separator: ",", omittingEmptySubsequences: false) {
                guard let fault = FleetFault(rawValue: String(name)) else {
                    let known = FleetFault.allCases.map(\.rawValue).joined(separator: ", ")
                    throw CommandError(.usage, "--faults names \(name); expected all, none, or some of \(known).")
                }
                plan.faults.insert(fault)
            }
        }
        return plan
    }

    private static func token(_ file: String, _ option: String) throws -> String {
        let text = (try? PlainText.read(file)).map { String(decoding: $0, as: UTF8.self) }
        guard let token = text?.trimmingCharacters(in: .whitespacesAndNewlines), !token.isEmpty else {
            throw CommandError(.usage, "\(option) \(file) cannot be read, or is empty.")
        }
        return token
    }

    private func show(_ report: FleetReport) throws(CommandError) {
        func list(_ counts: [String: Int]) -> String {
            counts.isEmpty
                ? "none" : counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }
        func milliseconds(_ value: Double?) -> String { value.map { String(format: "%.1f ms", $0) } ?? "-" }
        try Output.line(
            """
            devices       \(report.enrolled) of \(report.devices) enrolled, \(report.seconds) s, seed \(report.seed), \
            \(String(format: "%.1f", report.elapsedSeconds)) s elapsed
            records       \(report.produced) made, \(report.acknowledged) acknowledged, \(report.counts.recordsSent) \
            sent in \(CountText.of(report.counts.requests, "request"))
            answers       \(list(report.counts.answers)); p50 \(milliseconds(report.latencyMillisecondsP50)), \
            p99 \(milliseconds(report.latencyMillisecondsP99))
            outcomes      \(list(report.counts.outcomes))
            faults        \(list(report.counts.faults)); \(CountText.of(report.counts.closedEpochs, "epoch")) closed
            checked       \(CountText.of(report.oracle.found, "record")) of \
            \(CountText.of(report.oracle.devices, "device")): \(report.oracle.lost) lost, \(report.oracle.doubled) \
            doubled, \(report.oracle.altered) altered, \(report.oracle.foreign) never made, \
            \(CountText.of(report.oracle.unbalanced, "stream")) unbalanced, \
            \(CountText.of(report.oracle.waiting, "record")) still waiting, \
            \(CountText.of(report.oracle.unanswered, "device")) unanswered
            """)
        for detail in report.oracle.details { try Output.line("  \(detail)") }
        if report.enrolled < report.devices {
            try Output.line(
                """
                  \(CountText.of(report.devices - report.enrolled, "device")) could not enroll. If the enrollment \
                token was used up (HTTP 403), create one with more uses: ws1collector token create --enrollment --uses \
                \(report.devices)
                """)
        }
        try Output.line(report.isRight ? "Every acknowledged record exists exactly once." : "NOT RIGHT.")
    }
}

import ArgumentParser
import Foundation
import Synchronization

struct PrometheusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prometheus",
        abstract: "Milliseconds in which a collector shows Prometheus the newest values of a fleet.",
        discussion: """
            Each device has enrolled and sent a beacon and a system sample. An answer is measured from the request to \
            the last byte, over a keep-alive connection of loopback, beside the collector's own metrics. The first \
            answer reads what is stored; it is in the notes, because there is only one.
            """)

    @OptionGroup var options: MeasurementOptions

    @Option(help: "The release build of ws1collector.")
    var collector = "../../.build/release/ws1collector"

    @Option(help: "Devices of the fleet.")
    var fleet = 10_000

    func validate() throws {
        guard (1...1_000_000).contains(fleet) else {
            throw ValidationError("--fleet \(fleet): a number from 1 to 1000000 is needed")
        }
    }

    func run() async throws {
        let collector = try CollectorProcess(
            binary: collector, directory: options.directory, arguments: ["--device-metrics-series", "2000000"])
        let token = try collector.createToken("--role", "scraper", "--name", "prometheus")
        try ConsoleFleet.enroll(fleet, at: collector.addresses)
        let connection = try HTTPConnection(port: collector.port)
        let answer = Mutex((bytes: 0, series: 0))
        func milliseconds(_ path: String) throws -> Double {
            let request = HTTPConnection.request("GET", path, headers: [("Authorization", "Bearer \(token)")])
            var response: HTTPConnection.Response?
            let seconds = try Stopwatch.seconds { response = try connection.send(request) }
            guard let response, response.status == 200 else { throw BenchmarkError("\(path) gives no answer of 200") }
            let body = response.body
            let lines = body.split(separator: UInt8(ascii: "\n")).count { $0.first != UInt8(ascii: "#") }
            answer.withLock { $0 = (body.count, lines) }
            return seconds * 1000
        }
        let path = "/metrics/devices"
        let first = try Stopwatch.seconds {
            let request = HTTPConnection.request("GET", path, headers: [("Authorization", "Bearer \(token)")])
            guard try connection.send(request).status == 200 else { throw BenchmarkError("no first answer") }
        }
        let own = "GET /metrics"
        var comparison = try await Comparison.run(
            "Prometheus, \(fleet) devices", unit: "ms", rounds: options.rounds,
            [
                Contestant(own) { try milliseconds("/metrics") },
                Contestant("GET \(path)", baseline: own) { try milliseconds(path) },
            ])
        let (bytes, series) = answer.withLock { $0 }
        guard series >= fleet else { throw BenchmarkError("\(path) shows \(series) series of \(fleet) devices") }
        comparison.notes = [
            "the first answer after all devices had sent: \(Report.number(first * 1000)) ms",
            "\(series) series in \(Report.number(Double(bytes) / 1e6)) MB",
            "collector: at most \(Report.number(Double(collector.peakResidentBytes) / 1e6)) MB resident",
        ]
        try options.report([comparison])
    }
}

import ArgumentParser
import Glibc
import Logging
import SampleModules

struct SystemSampleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "system-sample",
        abstract:
            "Processor time of one sample of each module of this machine, beside that of only reading the same files.")

    @OptionGroup var options: MeasurementOptions

    func run() async throws {
        try options.report(try await Self.compare(options))
    }

    static func compare(_ options: MeasurementOptions) async throws -> [Comparison] {
        let samples = options.records / 50
        let baseline = "reading the same files, no more"
        var comparison = try await Comparison.run(
            "system-sample", unit: "us of processor time", rounds: options.rounds,
            [
                Contestant(baseline) { BareReading().processorMicroseconds(samples: samples) },
                Contestant("system sample, serialized", baseline: baseline) {
                    try sampling(samples) { SystemModule(host: $0, logger: $1) }
                },
            ])
        if let median = comparison.results.last?.figures.median {
            comparison.notes.append(
                "at one sample a second: \(Report.number(median * 60 / 1000)) ms of processor time a minute")
        }
        return [comparison, try await network(options, samples)]
    }

    private static func network(_ options: MeasurementOptions, _ samples: Int) async throws -> Comparison {
        let baseline = "reading /proc/net/dev, no more"
        var comparison = try await Comparison.run(
            "network-sample", unit: "us of processor time", rounds: options.rounds,
            [
                Contestant(baseline) { BareReading(["/proc/net/dev"]).processorMicroseconds(samples: samples) },
                Contestant("networkData sample, serialized", baseline: baseline) {
                    try sampling(samples) { NetworkDataModule(host: $0, logger: $1) }
                },
                Contestant("networkAdapter sample, serialized", baseline: baseline) {
                    try sampling(samples) { NetworkAdapterModule(host: $0, logger: $1) }
                },
                Contestant("wlan2 sample, or finding no adapter", baseline: baseline) {
                    try sampling(samples, mayHaveNothing: true) { WLANModule(host: $0, logger: $1) }
                },
            ])
        let total = comparison.results.dropFirst().reduce(0) { $0 + $1.figures.median }
        comparison.notes.append(
            "the three at one sample a second: \(Report.number(total * 60 / 1000)) ms of processor time a minute")
        return comparison
    }

    /// Time as the module sees it goes on by a second from sample to sample, so that what it does more rarely counts as
    /// rarely.
    private static func sampling(
        _ samples: Int, mayHaveNothing: Bool = false, _ make: (any HostSource, Logger) -> any SampleModule
    ) throws -> Double {
        let host = LinuxHostSource()
        var module = make(host, Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
        var time = host.now()
        var bytes = 0
        let before = ProcessorTime.microseconds
        for _ in 0..<samples {
            time = SampleTime(
                wallMicroseconds: time.wallMicroseconds + 1_000_000,
                sinceBootMicroseconds: time.sinceBootMicroseconds + 1_000_000)
            switch module.sample(at: time) {
            case .sample(let sample): bytes += sample.body.count
            case .none(let reason):
                guard mayHaveNothing else { throw BenchmarkError("\(module.name) gave no sample: \(reason)") }
            }
        }
        guard mayHaveNothing || bytes > samples * 10 else {
            throw BenchmarkError("the samples are empty: \(bytes) bytes in \(samples)")
        }
        return (ProcessorTime.microseconds - before) / Double(samples)
    }
}

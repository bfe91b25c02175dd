import ArgumentParser
import Glibc
import Logging
import SampleModules

struct SystemSampleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "system-sample",
        abstract: "Processor time of one system sample of this machine, beside that of only reading the same files.")

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
                Contestant("system sample, serialized", baseline: baseline) { try sampling(samples) },
            ])
        if let median = comparison.results.last?.figures.median {
            comparison.notes.append("at one sample a second: \(Report.number(median * 60 / 1000)) ms of processor time a minute")
        }
        return [comparison]
    }

    /// Time as the module sees it goes on by a second from sample to sample, so that what it does more rarely counts as rarely.
    private static func sampling(_ samples: Int) throws -> Double {
        let host = LinuxHostSource()
        var module = SystemModule(host: host, logger: Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
        var time = host.now()
        var bytes = 0
        let before = ProcessorTime.microseconds
        for _ in 0..<samples {
            time = SampleTime(
                wallMicroseconds: time.wallMicroseconds + 1_000_000, sinceBootMicroseconds: time.sinceBootMicroseconds + 1_000_000)
            guard case .sample(let sample) = module.sample(at: time) else { throw BenchmarkError("the system module gave no sample") }
            bytes += sample.body.count
        }
        guard bytes > samples * 50 else { throw BenchmarkError("the samples are empty: \(bytes) bytes in \(samples)") }
        return (ProcessorTime.microseconds - before) / Double(samples)
    }
}

import ArgumentParser
import DeviceTunables
import Encryption
import Foundation
import LogStore
import Logging
import RecordQueue
import TelemetryBasics
import WireModel

struct EncryptionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encryption",
        abstract: "What encryption at rest costs the queue and the log store, beside the same work without it.",
        discussion: """
            Processor time is that of the process, all threads. Bytes written are counted by the kernel, so \
            --directory must be on a disk.
            """)

    @OptionGroup var options: MeasurementOptions

    func run() async throws {
        try options.report(try await Self.compare(options))
    }

    /// What one operation cost.
    private struct Cost {
        var microseconds: Double
        var bytes: Double
    }

    static func compare(_ options: MeasurementOptions) async throws -> [Comparison] {
        let samples = EnqueueLoad.records(1000)
        return try await [
            pair("durable event", options) { keys, directory in
                try await enqueue([samples[0]], options.records / 50, isDurable: true, keys: keys, directory)
            },
            pair("sample, 1,000 to a commit, and sent", options) { keys, directory in
                try await enqueue(samples, options.records, isDurable: false, keys: keys, directory)
            },
            pair("log line, from the call to the sealed segment", options) { keys, directory in
                try await log(options.records * 5, keys: keys, directory)
            },
            pair("log line fetched", options) { keys, directory in
                try await fetch(options.records * 5, keys: keys, directory)
            },
        ]
    }

    private static func pair(
        _ name: String, _ options: MeasurementOptions,
        _ measure: @escaping (KeyRing?, String) async throws -> Cost
    ) async throws -> Comparison {
        var bytes: (plain: [Double], encrypted: [Double]) = ([], [])
        let (plain, encrypted) = ("\(name), plain", "\(name), encrypted")
        var comparison = try await Comparison.run(
            name, unit: "us of processor time", rounds: options.rounds,
            [
                Contestant(plain) {
                    let work = try WorkDirectory(in: options.directory)
                    let cost = try await measure(nil, work.file("data"))
                    bytes.plain.append(cost.bytes)
                    return cost.microseconds
                },
                Contestant(encrypted, baseline: plain) {
                    let work = try WorkDirectory(in: options.directory)
                    let cost = try await measure(try keys(in: work.path), work.file("data"))
                    bytes.encrypted.append(cost.bytes)
                    return cost.microseconds
                },
            ])
        let written = (Figures(bytes.plain).median, Figures(bytes.encrypted).median)
        if written.0 > 0 {
            comparison.notes.append(
                """
                bytes written: \(Report.number(written.0)) plain, \(Report.number(written.1)) encrypted, \
                \(((written.1 / written.0 - 1) * 1000).rounded() / 10) % more
                """)
        }
        return comparison
    }

    private static let logger = Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() }

    private static func keys(in directory: String) throws -> KeyRing {
        KeyRing(
            directory: directory, provider: KeyFileProvider(path: directory + "/device-key"),
            now: { Int64(Date().timeIntervalSince1970) }, logger: logger)
    }

    private static func enqueue(
        _ samples: [NewRecord], _ count: Int, isDurable: Bool, keys: KeyRing?, _ directory: String
    ) async throws -> Cost {
        var configuration = RecordQueue.Configuration()
        configuration.maximumBytes = 1 << 30
        configuration.maximumRecords = max(configuration.maximumRecords, count)
        configuration.lossWindow = .seconds(60)
        configuration.keys = keys
        let queue = try RecordQueue.open(
            directory: directory, configuration: configuration, clock: SystemRecordClock(), logger: logger)
        // The WAL is allocated by the first commit, once for all.
        try queue.enqueue(samples[0])
        try await queue.flush()
        let written = EnqueueLoad.writtenBytes
        let processor = ProcessorTime.microseconds
        for number in 0..<count {
            if isDurable {
                _ = try await queue.enqueueDurably(samples[number % samples.count])
            } else {
                try queue.enqueue(samples[number % samples.count])
                if (number + 1).isMultiple(of: 1000) { try await queue.flush() }
            }
        }
        if !isDurable { try await queue.drain(partRecords: 1000) }
        await queue.close()
        return Cost(
            microseconds: (ProcessorTime.microseconds - processor) / Double(count),
            bytes: Double(EnqueueLoad.writtenBytes - written) / Double(count))
    }

    private static func log(_ lines: Int, keys: KeyRing?, _ directory: String) async throws -> Cost {
        let written = EnqueueLoad.writtenBytes
        let processor = ProcessorTime.microseconds
        try await write(lines, keys: keys, directory)
        return Cost(
            microseconds: (ProcessorTime.microseconds - processor) / Double(lines),
            bytes: Double(EnqueueLoad.writtenBytes - written) / Double(lines))
    }

    private static func write(_ lines: Int, keys: KeyRing?, _ directory: String) async throws {
        var configuration = LogStore.Configuration(directory: directory, applicationName: "benchmarks")
        configuration.ringBytes = 0
        configuration.keys = keys
        let store = try LogStore(configuration)
        for number in 1...lines {
            store.information(LogLoad.message, category: "app.network")
            // No line may be lost for want of memory.
            if number.isMultiple(of: 20_000) { store.flush() }
        }
        store.flush()
        try LogLoad.check(store, wrote: lines)
        await store.close()
    }

    private static func fetch(_ lines: Int, keys: KeyRing?, _ directory: String) async throws -> Cost {
        try await write(lines, keys: keys, directory)
        let processor = ProcessorTime.microseconds
        let store = StoreDirectory(path: directory, keys: keys.map { LogKeys($0) })
        var fetched = 0
        let merged = try MergedLines(try StoreSnapshot(store, kinds: [.application]), filter: LogFilter())
        merged.forEach { _ in fetched += 1 }
        guard fetched == lines else { throw BenchmarkError("of \(lines) lines \(fetched) were read") }
        return Cost(microseconds: (ProcessorTime.microseconds - processor) / Double(lines), bytes: 0)
    }
}

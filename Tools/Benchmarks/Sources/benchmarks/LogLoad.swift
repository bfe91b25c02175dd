import Foundation
import Glibc
import LogStore
import Synchronization

/// Log calls in numbers, and what came of them.
enum LogLoad {
    /// 70 bytes, as an application's line has.
    static let message = "request 18423 took 23 ms and was answered from the cache, 4096 bytes; "
    /// So many calls are timed at a stretch; what waits then is written while the clock stands.
    private static let stretch = 20_000

    /// A file that lines are appended to, gone with this value.
    final class OpenFile: Sendable {
        private let descriptor: Int32
        private let work: WorkDirectory
        private static let line = Array("2026-11-21T23:51:28.123456Z I 5000042 app.network \(message)\n".utf8)

        init(in directory: String) throws {
            work = try WorkDirectory(in: directory)
            descriptor = open(work.file("lines"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw BenchmarkError("cannot make \(work.file("lines"))") }
        }

        deinit { close(descriptor) }

        func writeLine() { _ = Self.line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }

        func asStandardError<Result>(_ body: () throws -> Result) throws -> Result {
            let saved = dup(STDERR_FILENO)
            dup2(descriptor, STDERR_FILENO)
            defer {
                dup2(saved, STDERR_FILENO)
                close(saved)
            }
            return try body()
        }
    }

    static func withStore<Result>(
        _ directory: String, ring: Bool = false, _ body: (LogStore) async throws -> Result
    ) async throws -> Result {
        let work = try WorkDirectory(in: directory)
        var configuration = LogStore.Configuration(directory: work.path, applicationName: "benchmarks")
        if !ring { configuration.ringBytes = 0 }
        let store = try LogStore(configuration)
        do {
            let result = try await body(store)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }

    /// Wall time of a call.
    static func nanoseconds(_ calls: Int, pause: () -> Void = {}, _ call: (Int) -> Void) throws -> Double {
        var seconds = 0.0
        for start in stride(from: 0, to: calls, by: stretch) {
            seconds += Stopwatch.seconds { for number in start..<min(start + stretch, calls) { call(number) } }
            pause()
        }
        return seconds * 1e9 / Double(calls)
    }

    static func check(_ store: LogStore, wrote lines: Int) throws {
        let status = store.status
        guard status.written.total == UInt64(lines) else {
            throw BenchmarkError("of \(lines) lines \(status.written.total) were written; dropped: \(status.dropped)")
        }
    }

    /// The work of four threads.
    struct Burst {
        var calls: UInt64
        var seconds: Double
        /// The processor time of the process, all threads.
        var processorSeconds: Double
        /// Bytes resident, at most.
        var peakResident: Int
        var perSecond: Double { Double(calls) / seconds }
    }

    /// - Parameter perSecond: calls of all four together; `nil`: as fast as they can.
    static func fourThreads(seconds: Double, perSecond: Double? = nil, _ call: @escaping @Sendable () -> Void) throws
        -> Burst
    {
        let threads = 4
        let total = Atomic<UInt64>(0)
        let peak = Atomic(0)
        let before = ProcessorTime.microseconds
        let share = perSecond.map { $0 / Double(threads) }
        @Sendable func run(_ index: Int) -> UInt64 {
            let clock = ContinuousClock()
            let start = clock.now
            var calls: UInt64 = 0
            while true {
                let passed = start.duration(to: clock.now)
                let time = Double(passed.components.seconds) + Double(passed.components.attoseconds) * 1e-18
                if time >= seconds { break }
                if let share, Double(calls) > time * share {
                    // A millisecond ahead.
                    usleep(1000)
                    continue
                }
                for _ in 0..<250 { call() }
                calls += 250
                if index == 0, calls.isMultiple(of: 50_000), let figures = try? ProcessFigures(of: getpid()) {
                    peak.store(max(peak.load(ordering: .relaxed), figures.residentBytes), ordering: .relaxed)
                }
            }
            return calls
        }
        let wall = Stopwatch.seconds {
            // Threads of its own: a dispatch queue runs no more than there are cores.
            let ended = DispatchGroup()
            for index in 0..<threads {
                ended.enter()
                Thread.detachNewThread {
                    total.add(run(index), ordering: .relaxed)
                    ended.leave()
                }
            }
            ended.wait()
        }
        return Burst(
            calls: total.load(ordering: .relaxed), seconds: wall,
            processorSeconds: (ProcessorTime.microseconds - before) / 1e6,
            peakResident: peak.load(ordering: .relaxed))
    }

    /// The account in words; every call must be written or counted.
    static func account(of store: LogStore, after burst: Burst) throws -> String {
        let status = store.status
        let refused = status.dropped.filter { $0.key == .overload || $0.key == .diskFull }.values.reduce(0) {
            $0 + $1.total
        }
        let notes = status.written.warning
        guard status.written.total - notes + refused == burst.calls else {
            throw BenchmarkError("\(burst.calls) calls, \(status.written.total - notes) written, \(refused) dropped")
        }
        let reasons = status.dropped.sorted { $0.key < $1.key }.map {
            "\($0.key.rawValue) \(Report.number(Double($0.value.total)))"
        }
        return """
            \(Report.number(Double(burst.calls))) calls, \(Report.number(Double(status.written.total))) written; \
            dropped: \(reasons.isEmpty ? "none" : reasons.joined(separator: ", ")); \
            \(Report.number(burst.processorSeconds * 1e9 / Double(burst.calls))) ns of processor time a call, at most \
            \(Report.number(Double(burst.peakResident) / 1e6)) MB resident, \
            \(Report.number(Double(status.bytes) / 1e6)) MB on disk
            """
    }
}

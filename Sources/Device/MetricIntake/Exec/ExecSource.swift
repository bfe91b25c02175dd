import Dispatch
import Glibc
import HelperProcesses
import Synchronization

/// A program that prints measurements as lines of JSON, run once for each sample.
///
/// What a run may cost is bounded, because the program is not ours: a time, bytes of output, series. At the end of each
/// of them the program is killed with its process group and reaped, so that none of a hundred runs is left over. The
/// whole lines that came before count; a line that was cut off does not. The sample says by `ws1.metrics.up` 0 that the
/// run failed, and `status` says why, by the program's own first line on standard error where there is one.
///
/// Against it: a program that runs all the time and prints when it likes would be cheaper than one that starts each
/// time. But then a hang looks like silence, and values come at times of which the schedule knows nothing. One start a
/// minute is cheap; who needs more sends StatsD.
///
/// A program that leaves the process group (`setsid`) is not found. Its output is not waited for.
package final class ExecSource: MetricSource {
    package struct Configuration: Equatable, Sendable {
        /// An absolute path.
        package var program: String
        package var arguments: [String]
        /// How long a run may take.
        package var limit: Duration
        /// The most series of a sample.
        package var series: Int

        package init(program: String, arguments: [String] = [], limit: Duration, series: Int) {
            self.program = program
            self.arguments = arguments
            self.limit = limit
            self.series = series
        }
    }

    /// Bytes that a run may print.
    static let maximumBytes = 1 << 20
    private static let pieceBytes = 64 * 1024
    /// Milliseconds after which the end and the cancellation of a run are looked at.
    private static let look: Int32 = 50
    private static let firstWordBytes = 200

    private let configuration: Configuration
    private let tally = Mutex(MetricTally())
    /// A thread of its own while it works.
    private let queue = DispatchQueue(label: "ws1.exec")

    package init(_ configuration: Configuration) { self.configuration = configuration }

    package var report: MetricSourceReport { tally.withLock { $0.report } }

    package func begin() {}

    package func end() {}

    package func collect() async -> [MetricPoint] {
        let isCancelled = Mutex(false)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: self.run { isCancelled.withLock { $0 } }) }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }

    private func run(isCancelled: () -> Bool) -> [MetricPoint] {
        var table = SeriesTable<MetricPoint>(limit: configuration.series)
        var counts = tally.withLock { $0 }
        var failure: String?
        do throws(StartFailure) {
            let helper = try HelperProcess(configuration.program, configuration.arguments)
            failure = read(helper, isCancelled) { line in
                do throws(LineObjection) {
                    let point = try MetricLine.parse(line)
                    if !table.update(SeriesKey(point.name, point.attributes), initial: point, { $0 = point }) {
                        counts.refuse()
                    }
                } catch {
                    counts.invalid("a line cannot be taken in: \(error.text)")
                }
            }
        } catch {
            failure = error.description
        }
        let own = counts.finish(series: table.count, limit: configuration.series, failure: failure)
        tally.withLock { $0 = counts }
        return table.values.values + own
    }

    /// Reads until the program has ended, and has it ended by the limits. It is reaped when this returns.
    /// - Returns: why the run failed.
    private func read(
        _ helper: HelperProcess, _ isCancelled: () -> Bool, _ take: (ArraySlice<UInt8>) -> Void
    ) -> String? {
        let deadline = ContinuousClock.now + configuration.limit
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 1)
        defer { memory.deallocate() }
        var splitter = LineSplitter(maximumBytes: MetricLine.maximumBytes)
        var bytes = 0
        var hasClosed = false
        var failure: String?
        while failure == nil {
            // Before the read, so that what was printed until the end is read.
            let isReaped = helper.isReaped()
            if hasClosed {
                if isReaped { break }
                _ = poll(nil, 0, Self.look / 10)
            } else {
                switch helper.read(into: memory, milliseconds: isReaped ? 0 : Self.look) {
                case .bytes(let count):
                    bytes += count
                    guard bytes <= Self.maximumBytes else {
                        failure = "it printed more than \(Self.maximumBytes) bytes and was killed"
                        continue
                    }
                    splitter.add(UnsafeRawBufferPointer(rebasing: memory[..<count]), take)
                case .nothing:
                    // Somebody who left the group holds the output.
                    hasClosed = isReaped
                case .ended: hasClosed = true
                }
            }
            if isCancelled() {
                failure = "it was cancelled"
            } else if !isReaped, ContinuousClock.now >= deadline {
                failure = "it ran longer than \(configuration.limit) and was killed"
            }
        }
        if failure == nil {
            splitter.finish(take)
        } else {
            helper.end()
            while !helper.isReaped() { _ = poll(nil, 0, 1) }
        }
        let reason = failure ?? helper.failure
        guard let reason else { return nil }
        let word = helper.firstWord.map { String($0.prefix(Self.firstWordBytes)) }
        return "\(configuration.program): \(reason)\(word.map { ". It says: \($0)" } ?? "")"
    }
}

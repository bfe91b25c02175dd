import DeviceTestKit
import Foundation
import LogStore
import Logging
import RecordQueue
import SQLiteRecordStore
import SampleModules
import StoreTestKit
import WireModel

/// Performs one operation a number of times, so that Tools/checks/costs can count what it costs.
///
///     cost-probe OPERATION TIMES DIRECTORY
///
/// DIRECTORY is empty.
@main
enum CostProbe {
    /// The operations whose costs have limits in Tools/Benchmarks/Thresholds.
    enum Operation: String, CaseIterable {
        /// A sample of the system module on a captured laptop, serialized.
        case sample
        /// A call that writes a log line of 70 bytes.
        case log
        /// An event that is on disk when the call returns.
        case event
        /// A part of 100 records that is on the collector's disk when it is answered.
        case ingest
    }

    /// Not `async`: valgrind does not bear the main thread that Dispatch ends for it.
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let operation = Operation(rawValue: arguments[1]), let times = Int(arguments[2])
        else {
            let names = Operation.allCases.map(\.rawValue).joined(separator: "|")
            FileHandle.standardError.write(Data("usage: cost-probe \(names) TIMES DIRECTORY\n".utf8))
            exit(64)
        }
        let ended = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await perform(operation, times, in: arguments[3]) } catch { fatalError("\(error)") }
            ended.signal()
        }
        ended.wait()
    }

    private static let logger = Logger(label: "cost-probe") { _ in SwiftLogNoOpLogHandler() }

    private static func perform(_ operation: Operation, _ times: Int, in directory: String) async throws {
        switch operation {
        case .sample:
            var module = SystemModule(host: CapturedMachine.laptop.host(), logger: logger)
            for number in 1...UInt64(times) {
                let time = SampleTime(
                    wallMicroseconds: Int64(number) * 1_000_000,
                    sinceBootMicroseconds: 3_700_000_000 + number * 1_000_000)
                guard case .sample = module.sample(at: time) else { fatalError("no sample") }
            }
        case .log:
            var configuration = LogStore.Configuration(directory: directory, applicationName: "cost-probe")
            configuration.ringBytes = 0
            // The writer wakes by its buffer and not by the clock, so that a count repeats.
            configuration.flushInterval = .seconds(60)
            let store = try LogStore(configuration)
            for _ in 1...times {
                store.information(
                    "request 18423 took 23 ms and was answered from the cache, 4096 bytes; ", category: "app.network")
            }
            await store.close()
        case .event:
            let queue = try RecordQueue.open(
                directory: directory + "/queue", configuration: RecordQueue.Configuration(),
                clock: ManualRecordClock(), logger: logger)
            let event = NewRecord(
                stream: .event, kind: .event, module: "analytics",
                stamp: RecordStamp(wallTime: 1_790_000_000_000_000, bootID: nil, timeSinceBoot: 1),
                body: Data(repeating: 7, count: 100))
            for _ in 1...times { _ = try await queue.enqueueDurably(event) }
            await queue.close()
        case .ingest:
            let store = try SQLiteRecordStore.open(directory: directory, clock: ManualStoreClock(), logger: logger)
            var device = ScriptedDevice()
            for _ in 1...times {
                device.produce(100, bodyBytes: 200)
                guard try await store.drain(&device)?.outcome == .stored else { fatalError("a part was not stored") }
            }
            await store.shutDown()
        }
    }
}

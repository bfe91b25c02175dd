import Dispatch
import Foundation
import Synchronization

/// Devices that send at the same time, each over a connection of its own and each part after the former is
/// acknowledged.
struct IngestLoad {
    struct Result {
        var records: Int
        var seconds: Double
        /// How often a device was asked to wait.
        var waits = 0
        /// The time of each answer, in order.
        var milliseconds: [Double] = []
        var rawBytes: Int
        var bodyBytes: Int

        var recordsPerSecond: Double { Double(records) / seconds }

        var note: String {
            let (half, slow) = (milliseconds[milliseconds.count / 2], milliseconds[milliseconds.count * 99 / 100])
            return
                """
                half of the answers within \(Report.number(half)) ms, 99 of 100 within \(Report.number(slow)) ms; \
                asked to wait \(waits) times; \(rawBytes / records) bytes a record, \(bodyBytes / records) compressed
                """
        }
    }

    private let addresses: CollectorAddresses
    private let loads: [DeviceLoad]
    private let records: Int

    /// Enrolls the devices and makes their parts.
    /// - Parameters:
    ///   - records: of all devices together.
    ///   - name: each device has it with a number behind it.
    ///   - times: of each device's records.
    init(
        _ addresses: CollectorAddresses, records: Int, recordsPerPart: Int, devices: Int, name: String = "benchmark",
        times: SampleTimes = SampleTimes()
    ) throws {
        self.addresses = addresses
        let connection = try HTTPConnection(port: addresses.port(of: 0))
        let perDevice = records / devices
        self.records = perDevice * devices
        loads = try (0..<devices).map { number in
            let credential = try addresses.enroll("\(name)-\(number)", over: connection)
            return try DeviceLoad(
                credential: credential, records: perDevice, recordsPerPart: recordsPerPart, times: times)
        }
    }

    func run() throws -> Result {
        let failures = Mutex<[String]>([])
        let answers = Mutex<(waits: Int, milliseconds: [Double])>((0, []))
        let seconds = Stopwatch.seconds {
            let group = DispatchGroup()
            for (number, load) in loads.enumerated() {
                group.enter()
                // A thread each: they block, as many as there are devices.
                let thread = Thread {
                    do {
                        let sent = try load.send(over: HTTPConnection(port: addresses.port(of: number)))
                        answers.withLock { answers in
                            answers.waits += sent.waits
                            answers.milliseconds += sent.milliseconds
                        }
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                    group.leave()
                }
                thread.start()
            }
            group.wait()
        }
        if let failure = failures.withLock({ $0.first }) { throw BenchmarkError(failure) }
        let (waits, milliseconds) = answers.withLock { ($0.waits, $0.milliseconds.sorted()) }
        return Result(
            records: records, seconds: seconds, waits: waits, milliseconds: milliseconds,
            rawBytes: loads.reduce(0) { $0 + $1.rawBytes }, bodyBytes: loads.reduce(0) { $0 + $1.bodyBytes })
    }
}

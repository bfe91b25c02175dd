import Dispatch
import Foundation
import Synchronization
import WireModel

/// Devices at a collector, each with one beacon and one system sample.
struct ConsoleFleet {
    /// Enrolls them and sends their records.
    static func enroll(_ count: Int, at addresses: CollectorAddresses, over connections: Int = 16) throws {
        let failure = Mutex<(any Error)?>(nil)
        let group = DispatchGroup()
        for worker in 1...connections {
            group.enter()
            Thread {
                defer { group.leave() }
                do {
                    let connection = try HTTPConnection(port: addresses.port(of: worker))
                    var bodies = SampleBodies(seed: UInt64(worker))
                    for number in stride(from: worker, through: count, by: connections) {
                        let credential = try addresses.enroll("kiosk-\(number)", over: connection)
                        try report(number, credential, bodies.next(), over: connection)
                    }
                } catch { failure.withLock { $0 = error } }
            }.start()
        }
        group.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    private static func report(_ number: Int, _ credential: String, _ sample: Data, over connection: HTTPConnection)
        throws
    {
        var beacon = WireBeacon()
        beacon.trigger = .start
        beacon.deviceName = "kiosk-\(number)"
        beacon.application = ["com.example.kiosk", "com.example.till", "com.example.gate"][number % 3]
        beacon.applicationVersion = "\(number % 7).\(number % 4)"
        beacon.libraryVersion = "1.\(number % 5).0"
        beacon.operatingSystem.name = "linux"
        beacon.operatingSystem.distribution = "debian"
        beacon.operatingSystem.version = "\(11 + number % 3)"
        beacon.enrollment = .enrolled
        beacon.deviceCompliance = number % 50 == 0 ? .nonCompliant : .compliant
        beacon.compromised = .no
        beacon.nextBeaconSeconds = 900
        beacon.beaconSequence = 1
        var request = WireBatchRequest()
        request.parts = [
            part(.status, .beacon, module: "", beacon.encoded).wire,
            part(.sample, .sampleSystem, module: "system", sample).wire,
        ]
        let headers = [("Authorization", "Bearer \(credential)"), ("Content-Type", WireNames.protobuf)]
        let answer = try connection.send(
            HTTPConnection.request("POST", WireNames.batchesPath, headers: headers, body: request.encoded))
        guard answer.status == 200 else { throw BenchmarkError("a beacon: \(answer.status)") }
    }

    private static func part(_ stream: StreamName, _ kind: WireRecordKind, module: String, _ body: Data) -> BatchPart {
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let record = NewRecord(
            stream: stream, kind: kind, module: module,
            stamp: RecordStamp(wallTime: now, bootID: nil, timeSinceBoot: 1_000_000), body: body
        ).serialized(number: 1)
        return BatchPart(
            epoch: .random(), stream: stream, first: 1, last: 1, priorLink: .zero,
            lastLink: ChainLink.zero.appending(record), totals: StreamTotals(produced: 1, waiting: 1),
            records: [record])
    }
}

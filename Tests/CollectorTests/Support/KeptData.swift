import CollectorMaintenance
import Foundation
import Logging
import RecordStore
import Registry
import SQLiteRecordStore
import TestKit
import Testing
import WireModel

/// A collector's data directory with records of some days long ago, and `ws1collector` on it.
final class KeptData: Sendable {
    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    /// Records of each stream on each day.
    static let recordsPerDay = 8

    let path = FileManager.default.temporaryDirectory.appendingPathComponent("kept-\(UUID())").path
    let clock = SteppedClock()
    let devices: [DeviceID]
    /// Records of each device and stream.
    let records: UInt64

    /// - Parameter days: from `Harness.now`.
    init(days: Int, devices count: Int = 3) async throws {
        let (metadata, created) = try MetadataService.open(directory: path, clock: clock, logger: Self.logger)
        var devices: [DeviceID] = []
        for _ in 0..<count {
            devices.append(
                try await metadata.enroll(token: try #require(created).enrollmentToken, request: WireEnrollRequest())
                    .deviceID)
        }
        self.devices = devices
        records = UInt64(days * Self.recordsPerDay)
        let store = try openStore()
        var chains: [[ChainBuilder]] = devices.map { _ in StreamName.allCases.map { ChainBuilder(stream: $0) } }
        for day in 0..<days {
            if day > 0 { clock.advance(seconds: 86_400) }
            for (device, id) in devices.enumerated() {
                for stream in chains[device].indices {
                    let part = Self.part(of: &chains[device][stream], day: day, at: clock.now())
                    let answer = await store.append([part], from: id, receivedAt: clock.now())[0]
                    try #require(answer.outcome == .stored)
                }
            }
        }
        await store.shutDown()
        await metadata.close()
    }

    private static func part(of chain: inout ChainBuilder, day: Int, at time: Int64) -> BatchPart {
        let numbers = 0..<recordsPerDay
        switch chain.stream {
        case .status:
            return chain.part(
                kind: .beacon, time: time,
                bodies: numbers.map { number in
                    var beacon = WireBeacon()
                    beacon.deviceName = "kiosk \(day).\(number)"
                    beacon.nextBeaconSeconds = 900
                    return beacon.encoded
                })
        case .event: return chain.events(numbers.map { "event.\(day).\($0)" }, time: time)
        case .sample:
            return chain.part(
                kind: .sampleSystem, module: "system", time: time,
                bodies: numbers.map { number in
                    var sample = WireSystemSample()
                    if number == 0 { sample.identity.hostName = "host \(day)" }
                    return sample.encoded
                })
        }
    }

    /// Beside the collector that serves.
    func notices() throws -> NoticeService {
        NoticeService(
            metadata: try MetadataService.open(directory: path, clock: clock, logger: Self.logger, exclusive: false).0)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func openStore() throws -> SQLiteRecordStore {
        try SQLiteRecordStore.open(directory: path, clock: clock, logger: Self.logger)
    }

    func ws1collector(_ arguments: String...) async throws -> ProgramRun {
        try await ProgramRun.of(
            arguments + ["--data", path], program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
    }

    /// Serves until it is killed.
    func serveAndKill(after seconds: Double) async throws {
        let arguments = [
            "-s", "KILL", "\(seconds)", ProgramRun.ws1collectorPath, "serve", "--listen", "127.0.0.1:0", "--data", path,
        ]
        _ = try await ProgramRun.of(arguments, program: URL(fileURLWithPath: "/usr/bin/timeout"))
    }

    /// Record files of the days long ago. A collector that serves makes files of the present day when it looks whether
    /// it can store.
    func files(_ stream: StreamName) throws -> Int {
        try FileManager.default.subpathsOfDirectory(atPath: path + "/records").count {
            $0.hasPrefix("2025-") && $0.hasSuffix("/\(stream).sqlite")
        }
    }

    /// Every record is accounted for, whatever files there are, and what is there is whole.
    func expectBalance() async throws {
        let report = try await StoreVerifier(directory: path).verify()
        #expect(report.isWhole, "\(report.findings)")
        let balances = try await SQLiteRecordStore.openReading(directory: path).balances().devices
        #expect(Set(balances.map(\.device)) == Set(devices))
        for balance in balances.flatMap(\.epochs) {
            #expect(balance.balance.closes && balance.storedRows == records && balance.mark.stored == records)
        }
    }
}

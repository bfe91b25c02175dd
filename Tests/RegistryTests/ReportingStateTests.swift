import Foundation
import Testing
import WireModel

@testable import Registry

@Suite struct ReportingStateTests {
    private static let enrolled: Int64 = 1_000_000_000_000

    private func device(expected: UInt32?, beacon: Int64?) -> DeviceRow {
        var device = DeviceRow(
            id: .random(), organization: "o", name: "", operatingSystem: WireOperatingSystem(), agentVersion: "",
            application: "",
            machineHash: "", test: false, created: 0, enrolled: Self.enrolled)
        device.expectedBeaconSeconds = expected
        device.lastBeacon = beacon.map { Self.enrolled + $0 * 1_000_000 }
        return device
    }

    /// Beacons every 60 s, the last one 100 s after the enrollment.
    @Test(
        arguments: [
            (0, ReportingState.reporting), (60, .reporting), (134, .reporting), (135, .late), (300, .late),
            (314, .late), (315, .silent),
            (1_000_000, .silent), (-500, .reporting),
        ] as [(Int64, ReportingState)])
    func `After two missed beacons a device is late, after five it is silent`(seconds: Int64, state: ReportingState) {
        let now = Self.enrolled + (100 + seconds) * 1_000_000
        #expect(ReportingState(of: device(expected: 60, beacon: 100), at: now) == state)
    }

    @Test func `With no beacon yet, the enrollment counts`() {
        #expect(ReportingState(of: device(expected: 60, beacon: nil), at: Self.enrolled + 60_000_000) == .reporting)
        #expect(ReportingState(of: device(expected: 60, beacon: nil), at: Self.enrolled + 600_000_000) == .silent)
    }

    @Test func `With no schedule, nothing is invented`() {
        #expect(ReportingState(of: device(expected: nil, beacon: 0), at: .max) == .enrolled)
        #expect(ReportingState(of: device(expected: 0, beacon: 0), at: .max) == .enrolled)
    }

    @Test func `A device whose newest beacon says that telemetry is off is off, and never late`() {
        var off = device(expected: 60, beacon: 0)
        off.beacon = WireBeacon()
        off.beacon?.telemetryDisabled = true
        #expect(ReportingState(of: off, at: .max) == .off)
        var values = DeviceIndexEntry.Values()
        #expect(DeviceIndexEntry(off, sharing: &values).state(at: .max) == .off)
        off.left = 1
        #expect(ReportingState(of: off, at: .max) == .left)
        off.left = nil
        off.beacon?.telemetryDisabled = false
        #expect(ReportingState(of: off, at: Self.enrolled) == .reporting)
    }

    @Test func `Left and revoked come first`() {
        var left = device(expected: 60, beacon: 0)
        left.revoked = 1
        #expect(ReportingState(of: left, at: Self.enrolled) == .revoked)
        left.left = 1
        #expect(ReportingState(of: left, at: Self.enrolled) == .left)
    }
}

import Foundation
import Glibc
import TestKit
import Testing

@testable import DataSampler

/// The real gpsd, fed by gpsfake with NMEA sentences as a receiver sends them.
///
/// The receiver moves along a line, loses its fix, and finds it again. Both programs are ended by their ids.
@Suite(
    .timeLimit(.minutes(2)), .serialized,
    .enabled(if: access(GPSFake.program, X_OK) == 0, "needs gpsd and gpsfake; Tools/test installs them"))
struct GPSDTests {
    @Test func `Fix, loss and return of the fix are what the receiver sends, and never an old position`() async throws {
        let directory = try TemporaryDirectory()
        let gpsd = try GPSFake(directory.path)
        defer { gpsd.end() }
        let clock = ContinuousClock()
        let begin = clock.now
        let source = GPSDSource(try GPSDAddress("127.0.0.1:\(gpsd.port)")) {
            UInt64((begin.duration(to: clock.now) / .microseconds(1)) + 60_000_000)
        }
        var phases: [Bool] = []
        var fixes: [LocationFix] = []
        while phases.count < 4 {
            try Task.checkCancellation()
            switch await source.locate() {
            case .fix(let fix):
                fixes.append(fix)
                if phases.last != true { phases.append(true) }
            case .lost(let loss):
                // Before the first fix gpsd may still be starting.
                if loss.hasReceiver, phases.last == true { phases.append(false) }
            }
        }
        #expect(phases == [true, false, true, false])
        for fix in fixes {
            let second = Int((fix.latitude - GPSFake.latitude) / GPSFake.step + 0.5)
            #expect(GPSFake.hasFix(second: second), "a position of a second without a fix")
            #expect(abs(fix.longitude - (GPSFake.longitude + Double(second) * GPSFake.step)) < 0.00001)
            #expect(fix.time / 1_000_000 % 60 == Int64(second), "the time is that of the position")
            // Within a second gpsd has the position before the altitude.
            #expect(fix.altitude.map { abs($0 - 545.4) < 0.1 } != false)
            #expect(fix.speed.map { abs($0 - 11.5) < 0.1 } == true && fix.course.map { abs($0 - 84.4) < 0.1 } == true)
        }
        #expect(
            fixes.contains {
                $0.mode == .threeDimensional && $0.altitude != nil && $0.horizontalAccuracy != nil
                    && $0.satellites?.used == 8
            })
        gpsd.end()
        guard case .lost(let loss) = await source.locate() else {
            Issue.record("a position without gpsd")
            return
        }
        #expect(!loss.hasReceiver)
        await source.rest()
    }
}

/// gpsfake with a gpsd of its own on a free loopback port.
final class GPSFake: Sendable {
    static let program = "/usr/bin/gpsfake"
    static let latitude = 52.5163
    static let longitude = 13.3777
    /// Degrees in a second.
    static let step = 0.0001
    private static let seconds = 24

    let port: UInt16
    private let process: Watched<pid_t?>

    /// The first ten seconds and a few after a gap.
    static func hasFix(second: Int) -> Bool { (0..<10).contains(second) || (16..<seconds).contains(second) }

    init(_ directory: String) throws {
        port = UInt16(try FreePorts.one())
        let track = "\(directory)/track.nmea"
        try Self.track().write(toFile: track, atomically: true, encoding: .utf8)
        // Twenty milliseconds a sentence: a second of the track passes in 0.12 s.
        process = Watched(
            try SpawnedProcess.start(
                [Self.program, "-q", "-c", "0.02", "-P", "\(port)", track],
                environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=\(directory)", "HOME=\(directory)"],
                streams: [
                    .null, .appended(toFile: "\(directory)/gpsfake.log"), .appended(toFile: "\(directory)/gpsfake.log"),
                ]))
    }

    deinit { end() }

    /// Ends gpsfake and its gpsd, which share a group of their own.
    func end() {
        guard let group = process.value else { return }
        process.change { $0 = nil }
        kill(-group, SIGTERM)
        SpawnedProcess.waitForEnd(of: group)
        kill(-group, SIGKILL)
    }

    // MARK: The track

    private static func track() -> String {
        (0..<seconds).map { (second: Int) -> String in
            let time = String(format: "1034%02d.00", second)
            let north = degrees(latitude + Double(second) * step, digits: 2)
            let east = degrees(longitude + Double(second) * step, digits: 3)
            let position =
                hasFix(second: second)
                ? [
                    "GPRMC,\(time),A,\(north),N,\(east),E,022.4,084.4,080625,003.1,W,A",
                    "GPGGA,\(time),\(north),N,\(east),E,1,08,0.9,545.4,M,46.9,M,,",
                    "GPGSA,A,3,04,05,09,12,24,25,29,30,,,,,1.8,0.9,1.5",
                ]
                : [
                    "GPRMC,\(time),V,,,,,,,080625,,,N", "GPGGA,\(time),,,,,0,00,,,M,,M,,",
                    "GPGSA,A,1,,,,,,,,,,,,,,,",
                ]
            let satellites = [
                "GPGSV,2,1,08,04,40,083,46,05,17,308,41,09,07,344,39,12,22,228,45",
                "GPGSV,2,2,08,24,55,100,40,25,30,200,41,29,60,010,42,30,20,050,38",
            ]
            return (position + satellites).map(sentence).joined()
        }.joined()
    }

    private static func sentence(_ text: String) -> String {
        String(format: "$%@*%02X\r\n", text, text.utf8.reduce(UInt8(0), ^))
    }

    /// Degrees and minutes, as NMEA 0183 has them.
    private static func degrees(_ value: Double, digits: Int) -> String {
        let whole = value.rounded(.down)
        return String(format: "%0\(digits)d%08.5f", Int(whole), (value - whole) * 60)
    }
}

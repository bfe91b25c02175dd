import Testing
import WireModel

@testable import Collector

@Suite("A track thinned out by time")
struct LocationTrackTests {
    private static func report(_ time: Int64, latitude: Double? = nil) -> LocationReport {
        var sample = WireGPSSample()
        sample.fix = latitude == nil ? 1 : 3
        if let latitude { sample.location.latitude = latitude }
        return LocationReport(sample, time: time)
    }

    private static let reports = [
        report(1, latitude: 1), report(4, latitude: 4), report(5), report(11, latitude: 11), report(12),
        report(14, latitude: 14), report(25), report(26), report(31, latitude: 31), report(38, latitude: 38),
    ]

    @Test func `The order of arrival changes nothing`() {
        for reports in [Self.reports, Self.reports.reversed()] {
            var track = LocationTrack(window: SeriesWindow(from: 0, to: 40, step: 10))
            for report in reports { track.add(report) }
            #expect(track.reports.map { $0.report.time } == [38, 26, 14, 4])
            #expect(track.reports.map(\.gap) == [true, false, true, false])
        }
    }

    @Test func `A fix that was lost before a position makes a gap, and one that was lost after it does not`() {
        var track = LocationTrack(window: SeriesWindow(from: 0, to: 20, step: 10))
        for report in [Self.report(1), Self.report(3, latitude: 3), Self.report(15, latitude: 15), Self.report(16)] {
            track.add(report)
        }
        #expect(track.reports.map(\.gap) == [false, true])
        track.add(Self.report(12))
        #expect(track.reports.map(\.gap) == [true, true])
    }

    @Test func `Reports outside of the window are none of its`() {
        var track = LocationTrack(window: SeriesWindow(from: 0, to: 20, step: 10))
        for time in [Int64.min, -1, 20, .max] { track.add(Self.report(time, latitude: 1)) }
        #expect(track.reports.isEmpty)
    }
}

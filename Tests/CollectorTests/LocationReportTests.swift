import CollectorAPI
import Foundation
import Testing
import WireModel

@testable import Collector

@Suite("Reports of a location")
struct LocationReportTests {
    private static func sample(_ latitude: Double, _ longitude: Double) -> WireGPSSample {
        var sample = WireGPSSample()
        (sample.fix, sample.location.latitude, sample.location.longitude) = (3, latitude, longitude)
        return sample
    }

    @Test(
        arguments: [
            (90.000_001, 0), (-91, 0), (0, 180.5), (0, -181), (.nan, 0), (0, .nan), (.infinity, 0), (0, -.infinity),
            (1e308, 1e308),
        ] as [(Double, Double)])
    func `Coordinates that are nowhere on Earth are no position`(latitude: Double, longitude: Double) throws {
        let view = PositionView(LocationReport(Self.sample(latitude, longitude), time: 0))
        #expect(view.state == "invalid" && view.latitude == nil && view.longitude == nil)
        #expect(throws: Never.self) { try JSONEncoder().encode(view) }
    }

    @Test(arguments: [(90, 180), (-90, -180), (0, 0), (52.5, 13.4)] as [(Double, Double)])
    func `The edges of Earth are on it`(latitude: Double, longitude: Double) {
        let report = LocationReport(Self.sample(latitude, longitude), time: 0)
        #expect(report.state == .position && report.latitude == latitude && report.longitude == longitude)
    }

    @Test func `A number that cannot be is left out, and a negative zero is zero`() throws {
        for number in [Double.nan, .infinity, -.infinity] {
            var sample = Self.sample(-0.0, -0.0)
            sample.location.altitudeMeters = number
            sample.location.accuracyMeters = number
            sample.speedMetersPerSecond = number
            sample.courseDegrees = number
            sample.verticalAccuracyMeters = number
            let view = PositionView(LocationReport(sample, time: .min))
            #expect(view.altitudeMeters == nil && view.accuracyMeters == nil && view.speedMetersPerSecond == nil)
            #expect(view.courseDegrees == nil && view.verticalAccuracyMeters == nil)
            #expect(view.latitude?.sign == .plus && view.longitude?.sign == .plus)
            #expect(throws: Never.self) { try JSONEncoder().encode(view) }
        }
        var negative = Self.sample(1, 1)
        (negative.location.accuracyMeters, negative.location.altitudeMeters) = (-1, -1)
        let report = LocationReport(negative, time: 0)
        #expect(report.accuracy == nil && report.altitude == -1)
    }

    @Test func `A sample without a position says why`() {
        var sample = WireGPSSample()
        #expect(LocationReport(sample, time: 0).state == .noFix)
        sample.fix = 1
        #expect(LocationReport(sample, time: 0).state == .noFix)
        sample.fix = 2
        #expect(LocationReport(sample, time: 0).state == .withheld)
        #expect(LocationReport(WireBeacon(), time: 0) == nil)
    }
}

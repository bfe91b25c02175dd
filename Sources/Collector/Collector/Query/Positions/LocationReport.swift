import CollectorAPI
import Foundation
import RecordStore
import TelemetryBasics
import WireModel

/// What one record says of where its device was. Its numbers are those of the device, checked: coordinates are on
/// Earth, and everything is finite. Pure.
struct LocationReport: Equatable, Sendable {
    enum Source: String, CaseIterable, Sendable {
        case sample, beacon
    }

    enum State: String, Sendable {
        case position
        case noFix = "no-fix"
        case withheld
        case invalid
    }

    let source: Source
    let state: State
    /// The device's wall clock, microseconds since 1970, like all times here.
    let time: Int64
    var received: Int64?
    var measured: Int64?
    /// Degrees; only of the state `position`.
    var latitude: Double?
    var longitude: Double?
    var altitude: Double?
    var accuracy: Double?
    var verticalAccuracy: Double?
    var speed: Double?
    var course: Double?
    var fix: UInt32?
    var satellitesVisible: UInt32?
    var satellitesUsed: UInt32?
    var isTest = false

    /// When the device was there.
    var moment: Int64 { measured ?? time }

    /// The report of a record; `nil` for a record of another kind, one that cannot be read, and a beacon that does not
    /// speak of a location.
    init?(_ record: StoredRecord) {
        let header = record.header
        let body = header.body(of: record.bytes)
        switch WireRecordKind(rawValue: header.kind) {
        case .sampleGps:
            guard let sample = try? WireGPSSample.decodeBody(body) else { return nil }
            self.init(sample, time: header.wallTime)
        case .beacon:
            guard let beacon = try? WireBeacon.decodeBody(body) else { return nil }
            self.init(beacon, time: header.wallTime)
        default: return nil
        }
        received = record.receivedAt
        isTest = header.test
    }

    init(_ sample: WireGPSSample, time: Int64) {
        let location = sample.hasLocation ? sample.location : nil
        let state: State =
            switch location {
            case .some(let location): Self.isOnEarth(location) ? .position : .invalid
            case nil: sample.fix > 1 ? .withheld : .noFix
            }
        self.init(.sample, state, location, time: time)
        fix = sample.fix > 0 ? sample.fix : nil
        satellitesVisible = sample.hasSatellitesVisible ? sample.satellitesVisible : nil
        satellitesUsed = sample.hasSatellitesUsed ? sample.satellitesUsed : nil
        guard state == .position else { return }
        verticalAccuracy = sample.hasVerticalAccuracyMeters ? Self.size(sample.verticalAccuracyMeters) : nil
        speed = sample.hasSpeedMetersPerSecond ? Self.size(sample.speedMetersPerSecond) : nil
        course = sample.hasCourseDegrees ? Self.finite(sample.courseDegrees) : nil
    }

    /// `nil` if the beacon does not speak of a location.
    init?(_ beacon: WireBeacon, time: Int64) {
        guard beacon.hasLocation else { return nil }
        self.init(.beacon, Self.isOnEarth(beacon.location) ? .position : .invalid, beacon.location, time: time)
    }

    private init(_ source: Source, _ state: State, _ location: WireLocation?, time: Int64) {
        (self.source, self.state, self.time) = (source, state, time)
        guard let location else { return }
        measured = location.time != 0 ? location.time : nil
        guard state == .position else { return }
        (latitude, longitude) = (Self.finite(location.latitude), Self.finite(location.longitude))
        altitude = location.hasAltitudeMeters ? Self.finite(location.altitudeMeters) : nil
        accuracy = location.hasAccuracyMeters ? Self.size(location.accuracyMeters) : nil
    }

    private static func isOnEarth(_ location: WireLocation) -> Bool {
        abs(location.latitude) <= 90 && abs(location.longitude) <= 180
    }

    /// -0 becomes 0.
    private static func finite(_ number: Double) -> Double? { number.isFinite ? number + 0 : nil }

    private static func size(_ number: Double) -> Double? { finite(number).flatMap { $0 >= 0 ? $0 : nil } }
}

extension PositionView {
    /// - Parameters:
    ///   - gap: `nil` in a list of all reports.
    ///   - lostAt: microseconds since 1970; `nil` in a list of all reports.
    init(_ report: LocationReport, gap: Bool? = nil, lostAt: Int64? = nil) {
        self.init()
        source = report.source.rawValue
        state = report.state.rawValue
        time = Timestamp.text(report.time)
        receivedAt = report.received.map(Timestamp.text)
        measuredAt = report.measured.map(Timestamp.text)
        latitude = report.latitude
        longitude = report.longitude
        altitudeMeters = report.altitude
        accuracyMeters = report.accuracy
        verticalAccuracyMeters = report.verticalAccuracy
        speedMetersPerSecond = report.speed
        courseDegrees = report.course
        fix = report.fix
        satellitesVisible = report.satellitesVisible
        satellitesUsed = report.satellitesUsed
        self.gap = gap
        self.lostAt = lostAt.map(Timestamp.text)
        test = report.isTest ? true : nil
    }
}

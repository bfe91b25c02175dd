import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// The section of a device's page about its location: the newest position, and the track of a range as a picture.
struct DeviceLocation {
    private let subject: DeviceSubject
    private let profile: JSONValue
    private let range: TimeRange

    /// The most positions of a track.
    private static let steps: Int64 = 2000
    /// Positions in the table below the picture.
    private static let listed = 20

    /// - Parameter profile: the document of the profile that the device gets; null if it gets none.
    init(_ subject: DeviceSubject, profile: JSONValue, range: TimeRange) {
        (self.subject, self.profile, self.range) = (subject, profile, range)
    }

    private var visit: Visit { subject.visit }

    /// The values of the template `location`.
    func values() async throws -> JSONValue {
        let location = subject.device.location
        let absence = LocationAbsence(device: subject.device, profile: profile)
        let geofences = profile["geofences"].items.compactMap { Geofence($0) }
        var values: [String: JSONValue] = [
            "absence": .array(absence.reasons.map { .text($0) }),
            "newest": location?.position.map { Self.facts($0, age: location?.ageSeconds) } ?? .null,
            "lostSince": JSONValue(location?.lostSince),
            "geofences": Self.table(geofences, location?.position),
        ]
        // A device that never tells where it is has no track to be looked for.
        let asks = location != nil || TimeRange.names.contains { visit.query.text($0) != nil }
        values["hasTrack"] = .boolean(asks)
        if asks { values.merge(try await track(geofences)) { $1 } }
        return .object(values)
    }

    private static func facts(_ position: PositionView, age: Int64?) -> JSONValue {
        JSONValue.of(position).with([
            "coordinates": .text(coordinates(position)), "ageSeconds": age.map { .integer($0) } ?? .null,
            "at": .text(position.measuredAt ?? position.time), "dimensions": dimensions(position.fix),
        ])
    }

    private static func coordinates(_ position: PositionView) -> String {
        guard let latitude = position.latitude, let longitude = position.longitude else { return "" }
        return "\(TrackPicture.degrees(latitude)), \(TrackPicture.degrees(longitude))"
    }

    private static func dimensions(_ fix: UInt32?) -> JSONValue {
        switch fix {
        case 2: "two dimensions"
        case 3: "three dimensions"
        default: .null
        }
    }

    private static func table(_ geofences: [Geofence], _ position: PositionView?) -> JSONValue {
        let here = position.flatMap(Self.place)
        return JSONValue.array(
            geofences.map { fence in
                let form =
                    switch fence.form {
                    case .circle(_, let radius): "circle, radius \(TrackPicture.length(radius))"
                    case .polygon(let corners): "polygon of \(corners.count) corners"
                    }
                let side = here.map { fence.contains($0) ? "inside" : "outside" }
                return ["name": .text(fence.name), "form": .text(form), "side": JSONValue(side)]
            }
        ).table
    }

    private static func place(_ position: PositionView) -> GeoPosition? {
        guard let latitude = position.latitude, let longitude = position.longitude else { return nil }
        return GeoPosition(latitude: latitude, longitude: longitude)
    }

    // MARK: The track

    private func track(_ geofences: [Geofence]) async throws -> [String: JSONValue] {
        var values: [String: JSONValue] = ["range": range.values(at: visit, fragment: "location")]
        let step = range.step(buckets: Self.steps)
        var (source, reports) = ("sample", [PositionView]())
        do {
            reports = try await self.reports(source, step: step)
            // Beacons tell where a device is that does not sample it.
            if !reports.contains(where: { $0.state == "position" }) {
                let told = try await self.reports("beacon", step: step)
                if told.contains(where: { $0.state == "position" }) { (source, reports) = ("beacon", told) }
            }
        } catch let problem as Problem where problem.status == 400 {
            values["problem"] = JSONValue(problem.detail)
            return values
        }
        let positions = reports.filter { $0.state == "position" }
        values["csv"] = .text(visit.base + Self.csv(source, range).address(subject.address()))
        values["hasReports"] = .boolean(!reports.isEmpty)
        values["withoutPosition"] = reports.isEmpty || !positions.isEmpty ? .null : Self.states(reports)
        let fixes = Self.fixes(reports)
        guard let map = TrackMap(fixes, accuracy: positions.first?.accuracyMeters, geofences: geofences) else {
            return values
        }
        values["picture"] = TrackPicture(map: map, description: Self.words(map, fixes)).values
        values["step"] = .real(Double(step))
        values["source"] = .text(source == "beacon" ? "beacons" : "samples")
        values["positions"] =
            JSONValue.array(
                positions.prefix(Self.listed).map { position in
                    Self.facts(position, age: nil)
                }
            ).table
        return values
    }

    private func reports(_ source: String, step: Int64) async throws -> [PositionView] {
        let query = subject.records(range.aligned(to: step).query).with("source", source).with("step", "\(step)")
        return try await visit.api.call(.listPositions(subject.id), query).items
    }

    /// The positions, oldest first. A report without a position makes a gap before the next one.
    private static func fixes(_ reports: [PositionView]) -> [TrackMap.Fix] {
        var (fixes, isLost) = ([TrackMap.Fix](), false)
        for report in reports.reversed() {
            guard let time = Timestamp.parse(report.time), let position = Self.place(report) else {
                isLost = true
                continue
            }
            fixes.append(TrackMap.Fix(time: time, position: position, isAfterGap: isLost || report.gap == true))
            isLost = false
        }
        return fixes
    }

    private static func states(_ reports: [PositionView]) -> JSONValue {
        let counts = Dictionary(grouping: reports, by: \.state).mapValues(\.count)
        let words = ["no-fix": "the receiver had no fix", "withheld": "the position was withheld"]
        return .text(
            counts.sorted { $0.key < $1.key }.map { words[$0.key] ?? "the coordinates were invalid" }
                .joined(separator: ", or "))
    }

    /// The picture in words, for those who do not see it.
    private static func words(_ map: TrackMap, _ fixes: [TrackMap.Fix]) -> String {
        guard let first = fixes.first, let last = fixes.last else { return "" }
        func at(_ fix: TrackMap.Fix) -> String {
            let position = fix.position
            return "\(DisplayText.time(Timestamp.text(fix.time))) at \(TrackPicture.degrees(position.latitude)), "
                + TrackPicture.degrees(position.longitude)
        }
        guard fixes.count > 1 else { return "One position, \(at(first)). North is up." }
        let pieces = map.lines.count + map.dots.count
        return """
            \(DisplayText.count(Double(fixes.count))) positions in \(DisplayText.counted(pieces, "piece")), from \
            \(at(first)) to \(at(last)). They span \(TrackPicture.length(map.span.east)) from west to east and \
            \(TrackPicture.length(map.span.north)) from south to north. North is up.
            """
    }

    // MARK: CSV

    static func isCSV(_ visit: Visit) -> Bool { visit.query["format"] == "csv" }

    private static func csv(_ source: String, _ range: TimeRange) -> FormFields {
        range.query.with("source", source).with("format", "csv")
    }

    private static let columns = [
        "time", "measuredAt", "receivedAt", "source", "state", "latitude", "longitude", "altitudeMeters",
        "accuracyMeters", "verticalAccuracyMeters", "speedMetersPerSecond", "courseDegrees", "fix",
        "satellitesVisible", "satellitesUsed",
    ]

    /// All reports of the range, not thinned out.
    func csv() async throws -> Answer {
        let source = visit.query.text("source") == "beacon" ? "beacon" : "sample"
        let query = subject.records(range.query).with("source", source)
        let pages = try await CSVPages(visit, .listPositions(subject.id), query, columns: Self.columns) {
            (report: PositionView) in
            let numbers: [Double?] = [
                report.latitude, report.longitude, report.altitudeMeters, report.accuracyMeters,
                report.verticalAccuracyMeters, report.speedMetersPerSecond, report.courseDegrees,
            ]
            let counts = [report.fix, report.satellitesVisible, report.satellitesUsed]
            var cells = [report.time, report.measuredAt ?? "", report.receivedAt ?? "", report.source, report.state]
            for number in numbers { cells.append(number.map(DisplayText.plain) ?? "") }
            for count in counts { cells.append(count.map { "\($0)" } ?? "") }
            return cells
        }
        return .longCSV(name: "positions-\(subject.id).csv", pages)
    }
}

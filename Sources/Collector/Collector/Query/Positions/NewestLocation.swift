import CollectorAPI
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The newest that is known of where a device is: of its samples and of its newest beacon.
struct NewestLocation: Sendable {
    /// The newest report of any state.
    let newest: LocationReport
    let position: LocationReport?
    /// When the first report after `position` said that there was no fix; `nil` unless `newest` says so, too.
    /// Microseconds since 1970, by the device's clock.
    let lostSince: Int64?

    /// Samples that are looked at. An older position than theirs is not looked for.
    private static let samples = 100
    /// Pages of records that are passed over to find samples of the module.
    private static let pages = 5

    /// `nil` if neither the beacon nor a newest sample speaks of a location. Samples that cannot be read now are passed
    /// over, because the device is shown also while the record store is away.
    init?(of device: DeviceRow, in store: any RecordStore) async throws {
        let sampled = try await Self.sampled(device, store)
        let beacon = device.lastBeacon.flatMap { at in
            device.beacon.flatMap { LocationReport($0, time: at) }.map { report in
                var report = report
                report.received = at
                return report
            }
        }
        guard let newest = Self.newer(sampled.first, beacon) else { return nil }
        self.newest = newest
        let position = Self.newer(
            sampled.first { $0.state == .position }, beacon.flatMap { $0.state == .position ? $0 : nil })
        self.position = position
        lostSince =
            newest.state == .noFix
            ? sampled.prefix { $0.state == .noFix }.map(\.time).filter { $0 > position?.moment ?? .min }.min() : nil
    }

    /// Reports of the newest samples, the newest received first.
    private static func sampled(_ device: DeviceRow, _ store: any RecordStore) async throws -> [LocationReport] {
        let query = RecordQuery(
            .one(device.id), stream: .sample, kinds: [WireRecordKind.sampleGps.rawValue], withTest: device.test)
        var position: String?
        do {
            for _ in 0..<pages {
                let page = try await store.records(query, before: position, limit: samples)
                let reports = page.records.compactMap { LocationReport($0) }
                if !reports.isEmpty { return reports }
                position = page.next
                if position == nil { break }
            }
        } catch { try Task.checkCancellation() }
        return []
    }

    private static func newer(_ one: LocationReport?, _ other: LocationReport?) -> LocationReport? {
        guard let one, let other else { return one ?? other }
        return other.moment > one.moment ? other : one
    }

    /// - Parameter now: microseconds since 1970.
    func view(now: Int64) -> DeviceLocationView {
        var view = DeviceLocationView()
        view.newest = PositionView(newest)
        view.position = position.map { PositionView($0) }
        view.lostSince = lostSince.map(Timestamp.text)
        view.ageSeconds = position.map { position in
            let (age, isOver) = now.subtractingReportingOverflow(position.moment)
            // A time so far from now is one of a broken clock.
            if isOver { return position.moment < 0 ? Int64.max / 1_000_000 : 0 }
            return max(0, age / 1_000_000)
        }
        return view
    }
}

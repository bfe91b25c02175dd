import ClickHouse
import Foundation
import JSON
import MetricCatalog
import RecordStore
import RecordViews
import WireModel

/// The rows of one table for people, made from slices. The same slice always gives the same rows.
struct PeopleRows: Sendable {
    let stream: StreamName
    private(set) var rows = RowBinaryWriter()
    /// Records that give no rows because their bytes cannot be read.
    private(set) var unreadable: UInt64 = 0
    /// Attributes as JSON. The same ones come again with every sample.
    private var texts: [MetricAttributes: String] = [:]

    init(_ stream: StreamName) { self.stream = stream }

    /// Where a record stands, for the columns that all tables have.
    private struct Place {
        var entry: OutboxEntry
        var organization: String
        var receivedAt: Int64
        var header: RecordHeader
    }

    mutating func add(_ slice: StoredSlice, of entry: OutboxEntry, organization: String) {
        guard let ranges = slice.records.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            return unreadable += slice.recordCount
        }
        for range in ranges {
            let record = slice.records.slice(range)
            guard let header = RecordHeader(scanning: record) else {
                unreadable += 1
                continue
            }
            let place = Place(
                entry: entry, organization: organization, receivedAt: slice.receivedAt, header: header)
            do { try add(header.body(of: record), at: place) } catch { unreadable += 1 }
        }
    }

    /// Adds nothing for a kind that has no table, such as a command's result, or that belongs to another stream.
    private mutating func add(_ body: Data, at place: Place) throws {
        guard let kind = WireRecordKind(rawValue: place.header.kind) else { return }
        switch (stream, kind) {
        case (.sample, _): add(try MetricCatalog.points(ofKind: kind, body: body), at: place)
        case (.event, .event): add(try WireEvent.decodeBody(body), at: place)
        case (.status, .beacon): try add(try WireBeacon.decodeBody(body), at: place)
        default: return
        }
    }

    private mutating func add(_ place: Place) {
        let header = place.header
        rows.date(UInt16(clamping: place.entry.day.number))
        rows.string(place.organization)
        rows.uuid(place.entry.slice.chain.device)
        rows.dateTime(Self.seconds(header.wallTime))
        rows.int64(header.wallTime)
        rows.dateTime(Self.seconds(place.receivedAt))
        rows.string(header.application)
        rows.uint8(header.test ? 1 : 0)
        rows.uuid(place.entry.slice.chain.epoch)
        rows.uint64(header.number)
    }

    /// ClickHouse's DateTime ends in 2106. A device's clock may be anywhere.
    private static func seconds(_ microseconds: Int64) -> UInt32 { UInt32(clamping: microseconds / 1_000_000) }

    // MARK: Kinds

    private struct SeriesName: Hashable {
        var metric: String
        var attributes: MetricAttributes
    }

    /// Values that are no numbers are left out, as in the API.
    private mutating func add(_ points: [MetricPoint], at place: Place) {
        var repetitions: [SeriesName: UInt16] = [:]
        for point in points where point.value.isFinite {
            let name = SeriesName(metric: point.definition.name, attributes: point.attributes)
            let repetition = repetitions[name] ?? 0
            repetitions[name] = repetition &+ 1
            add(place)
            rows.string(point.definition.name)
            rows.string(text(of: point.attributes))
            rows.double(point.value)
            rows.string(point.definition.unit)
            rows.string(point.definition.kind.name)
            rows.string(place.header.module)
            rows.uint16(repetition)
            let header = place.header
            rows.nullable(point.startTime(sampledAt: header.wallTime, sinceBoot: header.timeSinceBoot)) {
                $0.int64($1)
            }
            rows.rowEnded()
        }
    }

    private mutating func add(_ event: WireEvent, at place: Place) {
        add(place)
        rows.string(event.name)
        rows.string(event.type.viewName)
        rows.string(event.value.viewText ?? "")
        rows.string(event.value.json.type)
        rows.nullable(event.value.number) { $0.double($1) }
        rows.string(Self.json(event.attributes.mapValues(\.json.value)))
        rows.string(Identifier<Never>(event.sessionID)?.description ?? "")
        rows.nullable(event.hasSucceeded ? event.succeeded : nil) { $0.uint8($1 ? 1 : 0) }
        rows.nullable(event.hasDurationMicroseconds ? event.durationMicroseconds : nil) {
            $0.double(Double($1) / 1_000_000)
        }
        rows.rowEnded()
    }

    /// Adds a beacon without personal data (names, address, position) and the push token.
    private mutating func add(_ beacon: WireBeacon, at place: Place) throws {
        guard case .object(let names) = try MessageView.json(beacon) else { return }
        // A member that is absent has the value 0, which these enums call unknown or unspecified.
        func name(_ member: String, otherwise: String = "unknown") -> String {
            if case .text(let text) = names[member] { text } else { otherwise }
        }
        add(place)
        rows.string(name("trigger", otherwise: "unspecified"))
        rows.string(beacon.deviceName)
        rows.string(beacon.organizationGroup)
        rows.string(beacon.applicationVersion)
        rows.string(beacon.libraryVersion)
        rows.string(beacon.operatingSystem.distribution)
        rows.string(beacon.operatingSystem.version)
        rows.string(beacon.model)
        rows.string(name("enrollment"))
        rows.string(name("deviceCompliance"))
        rows.string(name("applicationCompliance"))
        rows.string(name("compromised"))
        rows.string(name("managed"))
        rows.string(name("network"))
        rows.string(name("consent", otherwise: "unspecified"))
        rows.nullable(beacon.power.hasBatteryLevel ? beacon.power.batteryLevel : nil) {
            $0.double(Double($1) / 10_000)
        }
        rows.uint64(beacon.uptimeSeconds)
        rows.uint64(beacon.profileRevision)
        rows.uint32(beacon.nextBeaconSeconds)
        rows.rowEnded()
    }

    // MARK: Attributes

    private mutating func text(of attributes: MetricAttributes) -> String {
        if let text = texts[attributes] { return text }
        let text = Self.json(attributes)
        texts[attributes] = text
        return text
    }

    /// The attributes as JSON with sorted names and without spaces: equal attributes are equal texts, and ClickHouse's
    /// `visitParam` functions can read them.
    private static func json(_ attributes: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(attributes) else { return "{}" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension WireValue {
    /// The value as a number to calculate with. A truth value is 0 or 1; texts and dates have none.
    fileprivate var number: Double? {
        switch value {
        case .integer(let number): Double(number)
        case .real(let number): number.isFinite ? number : nil
        case .boolean(let flag): flag ? 1 : 0
        case .text, .date, nil: nil
        }
    }
}

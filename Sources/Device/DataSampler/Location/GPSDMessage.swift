import FoundationEssentials
import TelemetryBasics

/// One line of gpsd's JSON protocol (gpsd_json(5)), as far as we use it. Any bytes can be read: a member that is
/// missing or of another type is absent, and a line that is no object of a known class is `other`.
enum GPSDMessage: Equatable, Sendable {
    /// What gpsd says first: its release.
    case version(String)
    case poll(GPSDPoll)
    case error(String)
    case other

    init(_ line: Data) {
        // A line without a brace is not worth the decoder.
        guard line.first == UInt8(ascii: "{"), let fields = try? JSONDecoder().decode(Fields.self, from: line) else {
            self = .other
            return
        }
        switch fields.kind {
        case "VERSION": self = .version(fields.release ?? "")
        case "POLL":
            self = .poll(
                GPSDPoll(
                    active: fields.active ?? 0, reports: fields.reports.map(\.value), skies: fields.skies.map(\.value)))
        case "ERROR": self = .error(Self.text(fields.message ?? ""))
        default: self = .other
        }
    }

    /// What a stranger sent, as a text for status and log.
    private static func text(_ given: String) -> String {
        String(
            given.unicodeScalars.prefix(200).map { $0.properties.isWhitespace || $0.value < 0x20 ? " " : Character($0) }
        )
    }

    private struct Fields: Decodable {
        var kind: String?
        var release: String?
        var message: String?
        var active: Int?
        var reports: [GPSDReport.Lenient]
        var skies: [GPSDSky.Lenient]

        enum Key: String, CodingKey {
            case kind = "class"
            case release, message, active, tpv, sky
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            kind = values.lenient(.kind)
            release = values.lenient(.release)
            message = values.lenient(.message)
            active = values.lenient(.active)
            reports = values.lenient(.tpv) ?? []
            skies = values.lenient(.sky) ?? []
        }
    }
}

/// The answer to `?POLL;`: what each receiver last reported.
struct GPSDPoll: Equatable, Sendable {
    /// How many receivers send.
    var active: Int
    var reports: [GPSDReport]
    var skies: [GPSDSky]

    /// The report of the receiver that knows most: the best mode, then the latest time.
    var best: GPSDReport? {
        reports.max { ($0.mode, $0.time ?? .min) < ($1.mode, $1.time ?? .min) }
    }

    /// The satellites of a receiver; `nil` if it says nothing of them.
    func satellites(of device: String?) -> LocationFix.Satellites? {
        skies.first { $0.device == device }?.satellites
    }
}

/// A TPV object: time, position, velocity.
struct GPSDReport: Equatable, Sendable {
    var device: String?
    /// 0 unknown, 1 no fix, 2 or 3 dimensions. Other numbers count as 0.
    var mode: Int
    /// Microseconds since 1970.
    var time: Int64?
    var latitude: Double?
    var longitude: Double?
    var altitude: Double?
    var horizontalAccuracy: Double?
    var verticalAccuracy: Double?
    var speed: Double?
    var course: Double?

    /// The fix that it states; `nil` if it states none.
    func fix(_ satellites: LocationFix.Satellites?) -> LocationFix? {
        guard let mode = UInt32(exactly: mode).flatMap(LocationFix.Mode.init), let time, let latitude, let longitude
        else { return nil }
        return LocationFix(
            latitude: latitude, longitude: longitude,
            // The altitude of a two-dimensional fix is one of earlier.
            altitude: mode == .threeDimensional ? altitude : nil, horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: mode == .threeDimensional ? verticalAccuracy : nil, speed: speed, course: course,
            mode: mode, satellites: satellites, time: time
        ).checked
    }

    struct Lenient: Decodable {
        var value: GPSDReport

        enum Key: String, CodingKey {
            case device, mode, time, lat, lon, altMSL, alt, eph, epx, epy, epv, speed, track
        }

        init(from decoder: any Decoder) throws {
            guard let values = try? decoder.container(keyedBy: Key.self) else {
                value = GPSDReport(mode: 0)
                return
            }
            let mode: Int? = values.lenient(.mode)
            let time: String? = values.lenient(.time)
            // eph is the error of both together; older versions have only those of the two axes.
            let axes = [values.lenient(.epx), values.lenient(.epy)].compactMap { (value: Double?) in value }
            value = GPSDReport(
                device: values.lenient(.device), mode: mode.flatMap { (0...3).contains($0) ? $0 : nil } ?? 0,
                time: time.flatMap { Timestamp.parse($0) }, latitude: values.lenient(.lat),
                longitude: values.lenient(.lon), altitude: values.lenient(.altMSL) ?? values.lenient(.alt),
                horizontalAccuracy: values.lenient(.eph)
                    ?? (axes.count == 2 ? (axes[0] * axes[0] + axes[1] * axes[1]).squareRoot() : nil),
                verticalAccuracy: values.lenient(.epv), speed: values.lenient(.speed), course: values.lenient(.track))
        }
    }
}

/// A SKY object: the satellites in view.
struct GPSDSky: Equatable, Sendable {
    var device: String?
    var satellites: LocationFix.Satellites?

    struct Lenient: Decodable {
        var value: GPSDSky

        private struct Satellite: Decodable {
            var used: Bool

            enum Key: String, CodingKey { case used }

            init(from decoder: any Decoder) throws {
                used = (try? decoder.container(keyedBy: Key.self))?.lenient(.used) ?? false
            }
        }

        enum Key: String, CodingKey { case device, satellites, nSat, uSat }

        init(from decoder: any Decoder) throws {
            guard let values = try? decoder.container(keyedBy: Key.self) else {
                value = GPSDSky()
                return
            }
            let list: [Satellite]? = values.lenient(.satellites)
            let visible: UInt32? = list.map { UInt32(clamping: $0.count) } ?? values.lenient(.nSat)
            let used: UInt32? = list.map { UInt32(clamping: $0.count(where: \.used)) } ?? values.lenient(.uSat)
            value = GPSDSky(device: values.lenient(.device))
            if let visible, let used { value.satellites = .init(visible: visible, used: min(used, visible)) }
        }
    }
}

extension KeyedDecodingContainer {
    /// `nil` also for a value of another type.
    fileprivate func lenient<Value: Decodable>(_ key: Key) -> Value? {
        try? decodeIfPresent(Value.self, forKey: key)
    }
}

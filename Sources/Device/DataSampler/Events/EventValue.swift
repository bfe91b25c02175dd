import FoundationEssentials
import TelemetryBasics
import WireModel

/// The type of an event's value (ws1).
public enum EventValueType: String, CaseIterable, Sendable {
    /// Any text.
    case string
    /// A signed 64-bit integer.
    case integer
    /// A finite floating-point number.
    case double
    /// `true` or `false`.
    case boolean
    /// A point in time.
    case date
}

/// The value of an event or of one of its attributes.
public enum EventValue: Equatable, Sendable {
    /// Text of at most 65,536 bytes of UTF-8.
    case string(String)
    /// An integer.
    case integer(Int64)
    /// A finite number. NaN and infinities are refused when the event is recorded.
    case double(Double)
    /// `true` or `false`.
    case boolean(Bool)
    /// A point in time with microsecond precision.
    case date(Date)

    /// Parses a value: integers and doubles in decimal, booleans as `true` or `false`, dates in ISO 8601
    /// (`2026-03-01T12:00:00Z`, with an optional fraction of a second).
    ///
    /// - Throws: `invalidEvent` if the text is not of that type.
    public init(_ text: String, type: EventValueType) throws(DataSamplerError) {
        let value: EventValue? =
            switch type {
            case .string: .string(text)
            case .integer: Int64(text).map(EventValue.integer)
            case .double: Double(text).flatMap { $0.isFinite ? .double($0) : nil }
            case .boolean: text == "true" ? .boolean(true) : text == "false" ? .boolean(false) : nil
            case .date: Date(eventText: text).map(EventValue.date)
            }
        guard let value else {
            throw DataSamplerError(.invalidEvent, "the event's value is not \(Self.expectation(type))")
        }
        self = value
    }

    private static func expectation(_ type: EventValueType) -> String {
        switch type {
        case .string: "text"
        case .integer: "a whole number from \(Int64.min) to \(Int64.max)"
        case .double: "a finite number"
        case .boolean: "true or false"
        case .date: "a time in ISO 8601, such as 2026-03-01T12:00:00Z"
        }
    }
}

extension EventValue {
    /// `nil` if the value is out of range.
    var wire: WireValue? {
        var value = WireValue()
        switch self {
        case .string(let text): value.text = text
        case .integer(let number): value.integer = number
        case .double(let number): value.real = number
        case .boolean(let flag): value.boolean = flag
        case .date(let date):
            let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
            // A larger Double is less precise than a microsecond and finally does not fit.
            guard abs(microseconds) < 9.0e18 else { return nil }
            value.date = Int64(microseconds)
        }
        return value.isWithinBounds ? value : nil
    }
}

extension WireValue {
    /// Whether an event may contain the value: text that is not too long, a number that is finite.
    var isWithinBounds: Bool {
        switch value {
        case .text(let text)?: text.utf8.count <= EventLimits.textBytes
        case .real(let number)?: number.isFinite
        case .integer?, .boolean?, .date?: true
        case nil: false
        }
    }
}

/// Limits of an event, so that it always fits into a record.
enum EventLimits {
    static let nameBytes = 256
    static let textBytes = 65_536
    static let attributes = 64
    static let attributeNameBytes = 128
    /// Name, value and attributes together. Leaves room for the envelope in a record of 256 KiB.
    static let eventBytes = 240 * 1024
}

extension Date {
    /// Reads `YYYY-MM-DDTHH:MM:SS`, a fraction if there is one, and `Z` or an offset, `+HH:MM` or
    /// `+HHMM`.
    ///
    /// `nil` for every other form and for a day or time that there is not: Foundation's parser accepts the 30th of
    /// February, 25:00 and what follows the end, and makes another time of them.
    init?(eventText text: String) {
        guard let moment = Timestamp.moment(text, .compactOffset) else { return nil }
        self.init(timeIntervalSince1970: Double(moment.seconds) + Double(moment.nanoseconds) / 1e9)
    }
}

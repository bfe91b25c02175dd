import FoundationEssentials
import JSON
import MetricCatalog
import OTLP
import TelemetryBasics
import WireModel

extension OTLPAnyValue {
    init(_ text: String) {
        self.init()
        stringValue = text
    }

    init(_ value: AttributeValue) {
        self.init()
        switch value {
        case .text(let text): stringValue = text
        case .integer(let integer): intValue = integer
        case .boolean(let boolean): boolValue = boolean
        }
    }

    /// - Returns: `nil` for a value that says nothing.
    init?(_ value: WireValue) {
        self.init()
        switch value.value {
        case .text(let text): stringValue = text
        case .integer(let integer): intValue = integer
        case .real(let real): doubleValue = real
        case .boolean(let boolean): boolValue = boolean
        // OTLP has no times as values.
        case .date(let time): stringValue = Timestamp.text(time)
        case nil: return nil
        }
    }

    init(_ json: JSONValue) {
        self.init()
        switch json {
        case .null: break
        case .boolean(let boolean): boolValue = boolean
        case .integer(let integer): intValue = integer
        case .unsigned(let number):
            if let integer = Int64(exactly: number) { intValue = integer } else { doubleValue = Double(number) }
        case .real(let real): doubleValue = real
        case .text(let text): stringValue = text
        case .array(let items):
            var list = OTLPArrayValue()
            list.values = items.map { OTLPAnyValue($0) }
            arrayValue = list
        case .object(let members):
            var list = OTLPKeyValueList()
            list.values = members.sorted { $0.key < $1.key }.map { OTLPKeyValue($0.key, OTLPAnyValue($0.value)) }
            kvlistValue = list
        }
    }
}

extension OTLPKeyValue {
    init(_ key: String, _ value: OTLPAnyValue) {
        self.init()
        (self.key, self.value) = (key, value)
    }

    init(_ key: String, _ text: String) { self.init(key, OTLPAnyValue(text)) }
}

extension [OTLPKeyValue] {
    /// Sorted by key, so that equal attributes have equal bytes.
    init(_ attributes: MetricAttributes) {
        self = attributes.sorted { $0.key < $1.key }.map { OTLPKeyValue($0.key, OTLPAnyValue($0.value)) }
    }
}

extension UInt64 {
    /// Nanoseconds since 1970, as OTLP has times; 0, which is no time, for what lies before.
    init(nanosecondsOf microseconds: Int64) {
        guard microseconds > 0 else {
            self = 0
            return
        }
        let (nanoseconds, overflow) = UInt64(microseconds).multipliedReportingOverflow(by: 1000)
        self = overflow ? .max : nanoseconds
    }
}

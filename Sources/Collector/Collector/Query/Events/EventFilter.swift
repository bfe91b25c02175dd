import CollectorStore
import WireModel

/// Which events a list or a summary is of, by what is in their bodies.
struct EventFilter: Equatable, Sendable {
    var name: String?
    var type: WireEventType?
    /// The value as text: `42` is that text, that integer and that real number.
    var value: String?

    static let parameters: Set<String> = ["name", "type", "value"]

    static let types: [(name: String, type: WireEventType)] = [
        ("custom", .custom), ("launch", .launch), ("enrollment-call", .enrollmentCall), ("sdk-action", .sdkAction),
        ("unspecified", .unspecified),
    ]

    /// - Throws: `Problem` for the parameter that is wrong.
    init(_ query: QueryParameters) throws {
        name = query.text("name")
        value = query.text("value")
        type = try query.text("type").map { text in
            guard let found = Self.types.first(where: { $0.name == text })?.type else {
                throw Problem.invalidParameter("type", "is \(text); expected one of \(Self.types.map(\.name).joined(separator: ", ")).")
            }
            return found
        }
    }

    init(name: String? = nil, type: WireEventType? = nil, value: String? = nil) {
        (self.name, self.type, self.value) = (name, type, value)
    }

    var isAll: Bool { self == EventFilter() }

    func admits(_ record: StoredRecord) -> Bool {
        isAll || (try? WireEvent.decode(record.header.body(of: record.bytes))).map(admits) ?? false
    }

    func admits(_ event: WireEvent) -> Bool {
        (name == nil || event.name == name) && (type == nil || event.type == type) && value.map { Self.is(event.value, $0) } ?? true
    }

    private static func `is`(_ value: WireValue, _ text: String) -> Bool {
        if case .real(let real) = value.value { return Double(text) == real }
        if case .date(let date) = value.value { return Timestamp.parse(text) == date }
        return EventSummary.Grouping.text(of: value) == text
    }
}

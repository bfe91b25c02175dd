import CollectorStore
import WireModel

extension DeviceQuery {
    static let parameters: Set<String> = [
        "state", "os", "agentVersion", "app", "compliance", "compromised", "q", "sort", "test",
    ]
    static let textBytes = 256

    /// - Parameter organization: the asker's; `nil` for all.
    init(_ query: QueryParameters, organization: String?) throws {
        self.init(organization: organization)
        for word in (query.text("state") ?? "").split(separator: ",") {
            guard let state = ReportingState(rawValue: String(word)) else {
                throw Problem.invalidParameter(
                    "state", "holds \(word); known: \(ReportingState.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            states.insert(state)
        }
        operatingSystem = query.text("os")
        agentVersion = query.text("agentVersion")
        application = query.text("app")
        compliance = try query.choice(
            "compliance", [("unknown", .unknown), ("compliant", .compliant), ("non-compliant", .nonCompliant)])
        compromised = try query.choice("compromised", [("unknown", .unknown), ("no", .no), ("yes", .yes)])
        withTest = try query.flag("test")
        text = query.text("q") ?? ""
        guard text.utf8.count <= Self.textBytes else { throw Problem.invalidParameter("q", "has more than \(Self.textBytes) bytes.") }
        if let order = query.text("sort") {
            isDescending = order.hasPrefix("-")
            guard let known = Sort(rawValue: String(order.drop { $0 == "-" })) else {
                throw Problem.invalidParameter(
                    "sort", "is \(order); known: \(Sort.allCases.map(\.rawValue).joined(separator: ", ")), with - before it from the end.")
            }
            sort = known
        }
    }
}

extension QueryParameters {
    /// One of a few words; `nil` where it is absent.
    func choice<Value>(_ name: String, _ values: [(word: String, value: Value)]) throws -> Value? {
        guard let text = text(name) else { return nil }
        guard let found = values.first(where: { $0.word == text }) else {
            throw Problem.invalidParameter(name, "is none of \(values.map(\.word).joined(separator: ", ")).")
        }
        return found.value
    }
}

import Registry
import WireModel

/// The filters of devices, by the names of their parameters.
extension DeviceQuery {
    static let filters: Set<String> = [
        "state", "os", "agentVersion", "application", "applicationVersion", "compliance", "compromised",
        "profileRevision", "q",
        "enrollmentToken", "test", "organization",
    ]
    static let textBytes = 256
    /// Selects devices that reported no value.
    static let none = "none"
    static let complianceWords: [(word: String, value: WireCompliance)] = [
        ("unknown", .unknown), ("compliant", .compliant), ("non-compliant", .nonCompliant),
    ]
    static let compromisedWords: [(word: String, value: WireVerdict)] = [
        ("unknown", .unknown), ("no", .no), ("yes", .yes),
    ]

    /// - Returns: `nil` if it names an organization whose devices the person may not see.
    init?(_ parameters: QueryParameters, of person: Person) throws {
        let named = parameters.text("organization").flatMap { $0 == QueryParameters.allOrganizations ? nil : $0 }
        self.init(organization: person.organization ?? named)
        for word in (parameters.text("state") ?? "").split(separator: ",") {
            guard let state = ReportingState(rawValue: String(word)) else {
                throw parameters.invalid(
                    "state", "holds \(word); known: \(ReportingState.allCases.map(\.rawValue).joined(separator: ", "))."
                )
            }
            states.insert(state)
        }
        func reported(_ name: String) -> String? { parameters.text(name).map { $0 == Self.none ? "" : $0 } }
        operatingSystem = reported("os")
        agentVersion = reported("agentVersion")
        application = reported("application")
        applicationVersion = reported("applicationVersion")
        enrollmentToken = parameters.text("enrollmentToken")
        compliance = try parameters.choice("compliance", Self.complianceWords)
        compromised = try parameters.choice("compromised", Self.compromisedWords)
        if let revision = parameters.text("profileRevision") {
            let number = UInt64(revision)
            guard number != nil || revision == Self.none else {
                throw parameters.invalid("profileRevision", "is neither a whole number nor `\(Self.none)`.")
            }
            profileRevision = Revision(number)
        }
        withTest = try parameters.flag("test")
        text = parameters.text("q") ?? ""
        guard text.utf8.count <= Self.textBytes else {
            throw parameters.invalid("q", "has more than \(Self.textBytes) bytes.")
        }
        if let order = parameters.text("sort") {
            isDescending = order.hasPrefix("-")
            guard let known = Sort(rawValue: String(order.drop { $0 == "-" })) else {
                throw parameters.invalid(
                    "sort",
                    """
                    is \(order); known: \(Sort.allCases.map(\.rawValue).joined(separator: ", ")), each with - for the \
                    reverse order.
                    """
                )
            }
            sort = known
        }
        if let named, named != organization { return nil }
    }
}

/// How a compliance rule compares what a device has with what it should have.
package enum ComplianceOperator: String, CaseIterable, Sendable {
    case less = "<"
    case atMost = "<="
    case equal = "="
    case notEqual = "!="
    case atLeast = ">="
    case greater = ">"

    /// Whether `actual` stands so to `expected`.
    package func holds(_ actual: VersionNumber, _ expected: VersionNumber) -> Bool {
        switch self {
        case .less: actual < expected
        case .atMost: !(expected < actual)
        case .equal: actual == expected
        case .notEqual: actual != expected
        case .atLeast: !(actual < expected)
        case .greater: expected < actual
        }
    }
}

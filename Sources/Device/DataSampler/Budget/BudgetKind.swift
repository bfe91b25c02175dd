/// What a budget is about. The raw values are the names on the wire (`Slowdown.budget`).
enum BudgetKind: String, CaseIterable, Codable, Sendable {
    case sentBytes = "sent-bytes"
    case writtenBytes = "written-bytes"
    case cpu
}

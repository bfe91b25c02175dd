import CollectorStore
import WireModel

extension LogQuery {
    /// What can be asked of a chunk as a whole.
    static let parametersOfWholeChunks: Set<String> = ["ids", "device", "app", "type", "level", "from", "to", "test"]
    /// The same, and what only its lines can tell.
    static let parameters = parametersOfWholeChunks.union(["category", "text"])

    static let maximumIDs = 1000
    static let maximumCategories = 32
    static let textBytes = 1024

    /// - Parameter organization: the asker's; `nil` for all.
    init(_ query: QueryParameters, organization: String?) throws {
        self.init(
            organization: organization, device: try query.device("device"), application: query.text("app"),
            withTest: try query.flag("test"))
        switch query.text("type") {
        case nil, "all": break
        case .some(let text):
            type = LogType(rawValue: text)
            guard type != nil else { throw Problem.invalidParameter("type", "is none of all, application, crash.") }
        }
        if let text = query.text("ids") {
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let id = Int64(word), id > 0 else {
                    throw Problem.invalidParameter("ids", "are not ids of chunks, with commas between.")
                }
                chunks.append(id)
            }
            guard chunks.count <= Self.maximumIDs else {
                throw Problem.invalidParameter("ids", "are more than \(Self.maximumIDs).")
            }
            // Who names them means them.
            withTest = true
        }
        lines = try Self.lines(query)
    }

    private static func lines(_ query: QueryParameters) throws -> LogFilter {
        var filter = LogFilter(since: try query.time("from"), until: try query.time("to"))
        if let text = query.text("level") {
            guard let level = LogLevel(name: text) else {
                throw Problem.invalidParameter("level", "is none of \(LogLevel.allCases.map(\.name).joined(separator: ", ")).")
            }
            filter.level = level
        }
        if let since = filter.since, let until = filter.until, since >= until {
            throw Problem.invalidParameter("to", "is not after `from`.")
        }
        if let text = query.text("category") {
            filter.categories = text.split(separator: ",").map(String.init)
            guard filter.categories.count <= maximumCategories, filter.categories.allSatisfy({ $0.utf8.count <= LogLimits.categoryBytes })
            else {
                throw Problem.invalidParameter(
                    "category", "has more than \(maximumCategories) names, or one of more than \(LogLimits.categoryBytes) bytes.")
            }
        }
        filter.text = query.text("text") ?? ""
        guard filter.text.utf8.count <= textBytes else { throw Problem.invalidParameter("text", "has more than \(textBytes) bytes.") }
        return filter
    }
}

import FoundationEssentials
import SQLite
import WireModel

/// A query as SQL over `chunk AS c`, and where lines are asked for over `log_run AS r`. Values are bound, never written into the text.
struct ChunkCondition {
    private var terms = ["c.fate = \(ChunkFate.stored.rawValue)"]
    private var values: [any BindableValue] = []

    init(_ query: LogQuery, runs: Bool = false) {
        if let organization = query.organization { add("c.organization = ?", organization) }
        if let device = query.device {
            let devices = [device] + query.predecessors
            terms.append("c.device IN (\(devices.map { _ in "?" }.joined(separator: ", ")))")
            values += devices.map(\.data)
        }
        if let application = query.application { add("c.application = ?", application) }
        // A chunk of lines of more than one type may hold what is asked for.
        if let type = query.type { add("c.type IN (0, ?)", type.wire.rawValue) }
        if !query.withTest { terms.append("c.test = 0") }
        if let time = query.receivedBefore { add("c.received < ?", time) }
        if !query.chunks.isEmpty {
            add("c.row IN (SELECT value FROM json_each(?))", "[" + query.chunks.map(String.init).joined(separator: ",") + "]")
        }
        add(query.lines, of: "c")
        if runs { add(query.lines, of: "r") }
    }

    /// What an index over times and levels can tell of a filter.
    private mutating func add(_ filter: LogFilter, of table: String) {
        if let since = filter.since { add("\(table).last_time >= ?", since) }
        if let until = filter.until { add("\(table).first_time < ?", until) }
        guard filter.level != .verbose else { return }
        let columns = ["errors", "warnings", "informations"].prefix(filter.level.rawValue)
        terms.append("(" + columns.map { "\(table).\($0) > 0" }.joined(separator: " OR ") + ")")
    }

    mutating func add(_ term: String, _ value: any BindableValue) {
        terms.append(term)
        values.append(value)
    }

    var text: String { terms.joined(separator: " AND ") }

    func bind(to statement: Statement) throws(SQLiteError) {
        for (place, value) in values.enumerated() { try value.bind(to: statement, at: Int32(place + 1)) }
    }
}

import CommandKit
import FoundationEssentials
import JSON
import WireModel

extension JSONValue {
    /// The member of an object; `nil` if there is none, or this is no object.
    subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The value at a path of members with dots between: `event.name`.
    func at(_ path: String) -> JSONValue? {
        var value: JSONValue? = self
        for name in path.split(separator: ".") { value = value?[String(name)] }
        return value
    }

    var string: String? { if case .text(let text) = self { text } else { nil } }

    var list: [JSONValue] { if case .array(let list) = self { list } else { [] } }

    var int64: Int64? { if case .integer(let value) = self { value } else { nil } }

    /// The value in a cell of a table: text without its quotes, everything else as JSON in one line.
    var cell: String {
        switch self {
        case .null: "-"
        case .text(let text): text.isEmpty ? "-" : text
        case .boolean(let value): value ? "yes" : "no"
        case .integer(let value): "\(value)"
        case .unsigned(let value): "\(value)"
        case .real(let value): "\(value)"
        case .array, .object: compactText
        }
    }

    /// JSON in one line, with sorted names.
    var compactText: String {
        // Every value has JSON: numbers that are not finite are null.
        (try? JSONEncoder.stable().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}

extension OutputOptions {
    /// Prints a list: as a table of some members, as JSON with all of them, or the names only.
    /// - Parameter columns: title, and the path of the member.
    func print(_ items: [JSONValue], _ columns: [(title: String, path: String)]) throws {
        if names { return try items.forEach { try Output.line(($0["name"] ?? $0["id"])?.cell ?? "-") } }
        if json { return try Output.json(JSONValue.array(items)) }
        try Output.table(
            [columns.map(\.title)] + items.map { item in columns.map { Self.cut(item.at($0.path)?.cell ?? "-") } })
    }

    /// One long value makes its column as wide in each row. JSON has it whole.
    private static func cut(_ cell: String) -> String {
        let kept = cell.prefix(mostCharacters)
        return kept.endIndex == cell.endIndex ? cell : kept + "…"
    }

    private static let mostCharacters = 80

    /// Prints one object: a line for each member, or JSON.
    func print(_ object: JSONValue) throws {
        guard !json, case .object(let members) = object else { return try Output.json(object) }
        if names { return try Output.line((members["name"] ?? members["id"])?.cell ?? "-") }
        for (name, value) in Self.lines(members, indent: "") { try Output.line(name + value) }
    }

    private static func lines(_ members: [String: JSONValue], indent: String) -> [(String, String)] {
        members.sorted { $0.key < $1.key }.flatMap { name, value -> [(String, String)] in
            guard case .object(let below) = value, !below.isEmpty else { return [("\(indent)\(name): ", value.cell)] }
            return [("\(indent)\(name):", "")] + lines(below, indent: indent + "  ")
        }
    }
}

/// How much of a list is asked for.
enum ListLimit {
    static let standard = 100

    static func of(_ limit: Int?, all: Bool) throws(CommandError) -> Int? {
        guard let limit else { return all ? nil : standard }
        guard !all else { throw CommandError(.usage, "--limit and --all exclude each other: give one of them") }
        guard limit > 0 else { throw CommandError(.usage, "--limit is \(limit); expected at least 1") }
        return limit
    }
}

/// What differs between two documents, by place. Pure.
///
/// Objects are compared field by field, lists as a whole: an order that changed is a change.
struct ProfileDiff {
    struct Change: Encodable, Equatable {
        /// A JSON Pointer (RFC 6901): `/sampling/modules`.
        var path: String
        /// Absent where it was not there.
        var from: JSONValue?
        /// Absent where it is not there any more.
        var to: JSONValue?
    }

    /// In the order of their places.
    private(set) var changes: [Change] = []

    init(from: JSONValue, to: JSONValue) {
        compare(from, to, at: "")
    }

    /// Of the changes, each single setting that is not there any more, so that the default holds again.
    var removals: [Change] {
        changes.flatMap { change in change.to == nil ? Self.settings(change.from, at: change.path) : [] }
    }

    private static func settings(_ value: JSONValue?, at path: String) -> [Change] {
        guard case .object(let fields)? = value, !fields.isEmpty else { return [Change(path: path, from: value, to: nil)] }
        return fields.keys.sorted().flatMap { settings(fields[$0], at: "\(path)/\(escaped($0))") }
    }

    private static func escaped(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }

    private mutating func compare(_ from: JSONValue?, _ to: JSONValue?, at path: String) {
        guard from != to else { return }
        guard case .object(let old)? = from, case .object(let new)? = to else {
            changes.append(Change(path: path, from: from, to: to))
            return
        }
        for name in Set(old.keys).union(new.keys).sorted() {
            compare(old[name], new[name], at: "\(path)/\(Self.escaped(name))")
        }
    }
}

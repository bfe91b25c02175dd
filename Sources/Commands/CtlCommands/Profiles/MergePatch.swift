import JSON

extension JSONValue {
    /// This value with a merge patch (RFC 7396): a named member takes its new value, `null` removes it, objects are
    /// merged, and lists are replaced as a whole.
    func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONValue] = [:]
        if case .object(let present) = self { members = present }
        for (name, change) in changes {
            members[name] = change == .null ? nil : (members[name] ?? .null).merged(with: change)
        }
        return .object(members)
    }
}

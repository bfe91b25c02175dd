/// What journald calls an entry: `s=…;i=…;b=…;m=…;t=…;x=…`. Every version of systemd writes these parts, so the
/// sequence number is known also where the export format has no `__SEQNUM` (before systemd 254).
struct JournalCursor: Equatable, Sendable {
    let text: String
    private let parts: [Substring: Substring]

    init(_ text: String) {
        self.text = text
        var parts: [Substring: Substring] = [:]
        for part in text.split(separator: ";") {
            guard let equals = part.firstIndex(of: "=") else { continue }
            parts[part[..<equals]] = part[part.index(after: equals)...]
        }
        self.parts = parts
    }

    /// Whether both are the same entry. One that journald moved from `/run` to `/var` has another sequence number, and
    /// the same boot, times and content.
    func isSameEntry(as other: JournalCursor) -> Bool {
        if text == other.text { return true }
        return ["b", "m", "t", "x"].allSatisfy { parts[$0] != nil && parts[$0] == other.parts[$0] }
    }

    /// The entries between the two, as their sequence numbers say; `nil` if they do not: the numbers were begun anew.
    func entries(before later: JournalCursor) -> UInt64? {
        guard let source = parts["s"], source == later.parts["s"],
            let first = parts["i"].flatMap({ UInt64($0, radix: 16) }),
            let second = later.parts["i"].flatMap({ UInt64($0, radix: 16) }), second > first
        else { return nil }
        return second - first - 1
    }
}

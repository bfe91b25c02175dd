import CollectorAPI
import JSON

/// Puts the changes that one person made into the revision that another one saved meanwhile.
struct ProfileMerge {
    private let own: [Change]
    /// The settings that both changed. One's own value stays.
    let both: [String]

    private struct Change {
        var place: [String]
        /// `nil` if it is removed.
        var value: JSONValue?

        init(_ change: ProfileChangeView) {
            place = change.place
            value = change.to
        }

        func overlaps(_ other: Change) -> Bool {
            zip(place, other.place).allSatisfy { $0 == $1 } && value != other.value
        }
    }

    /// - Parameters:
    ///   - own: one's own changes of the revision that was edited, as the API lists them.
    ///   - theirs: those of the other person.
    init(own: [ProfileChangeView], theirs: [ProfileChangeView]) {
        let others = theirs.map(Change.init)
        let changes = own.map(Change.init)
        self.own = changes
        both = changes.filter { change in others.contains { change.overlaps($0) } }.map {
            $0.place.joined(separator: ".")
        }
    }

    /// The other's revision with one's own changes.
    func merged(into newest: JSONValue) -> JSONValue {
        own.reduce(newest) { Self.setting($1.value, at: $1.place[...], of: $0) }
    }

    private static func setting(_ value: JSONValue?, at place: ArraySlice<String>, of whole: JSONValue) -> JSONValue {
        guard let name = place.first else { return value ?? .object([:]) }
        var members: [String: JSONValue] = [:]
        if case .object(let present) = whole { members = present }
        members[name] =
            place.count == 1 ? value : setting(value, at: place.dropFirst(), of: members[name] ?? .object([:]))
        return .object(members)
    }
}

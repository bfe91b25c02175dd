import JSON

/// A job over many devices in words.
enum DeviceJobText {
    private static let unfinished: Set = ["preparing", "running"]
    /// Arguments that are numbers of bytes or seconds.
    private static let units: [String: @Sendable (Double) -> String] = [
        "maximumBytes": DisplayText.bytes, "durationSeconds": DisplayText.duration,
        "captureSeconds": DisplayText.duration,
    ]

    /// The action as a title: "Send a beacon".
    static func title(_ job: JSONValue) -> String {
        DeviceAction.of(job)?.label ?? DisplayText.words(job["kind"].text ?? job["action"].text ?? "job")
    }

    /// The arguments of the action, for people.
    static func arguments(_ job: JSONValue) -> [(label: String, value: JSONValue)] {
        var facts = job["arguments"].members.filter { $0.value != .boolean(false) }.sorted { $0.key < $1.key }.map {
            name, value in
            let words = value.number.flatMap { number in units[name].map { $0(number) } }
            let list = value.items.isEmpty ? nil : value.items.map(\.renderText).joined(separator: ", ")
            let label = DisplayText.words(name).replacing(" seconds", with: "").replacing(" bytes", with: " size")
            return (label: capitalized(label), value: JSONValue.text(words ?? list ?? value.renderText))
        }
        if job["closeEnrollmentToken"].isTrue {
            facts.append(("Enrollment tokens", "revoked too: the tokens with which these devices last enrolled"))
        }
        return facts
    }

    /// A job with what pages show of it.
    static func shown(_ job: JSONValue, for visitor: Visitor) -> JSONValue {
        let isUnfinished = unfinished.contains(job["state"].text ?? "")
        let behind = (job["done"].integer ?? 0) + (job["refused"].integer ?? 0)
        let role = DeviceAction.of(job)?.role ?? .administrator
        return job.with([
            "title": .text(title(job)), "behind": .integer(behind),
            "canCancel": .boolean(isUnfinished && visitor.role >= role),
        ])
    }

    /// The devices that were selected, and the address of their list; `nil` if they were named.
    static func selection(_ job: JSONValue, at visit: Visit) -> JSONValue {
        guard job["filter"] != .null else { return .null }
        var filters = FormFields()
        for name in DeviceFilterLinks.names {
            let value = job["filter"][name]
            if value != .null { filters.add(name, value.isTrue ? "true" : value.renderText) }
        }
        return [
            "words": .text(DeviceFilterLinks.words(filters)),
            "address": .text(visit.base + filters.address("/devices")),
        ]
    }

    private static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}

import CollectorAPI
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
    static func title(_ job: DeviceJobView) -> String {
        DeviceAction.of(job)?.label ?? DisplayText.words(job.kind ?? job.action)
    }

    /// The arguments of the action, for people.
    static func arguments(_ job: DeviceJobView) -> [(label: String, value: JSONValue)] {
        arguments(.of(job.arguments), closesTokens: job.closeEnrollmentToken == true)
    }

    /// - Parameters:
    ///   - arguments: of a command, with the names of the API.
    ///   - closesTokens: of a revocation.
    static func arguments(_ arguments: JSONValue, closesTokens: Bool) -> [(label: String, value: JSONValue)] {
        let given = arguments.members.filter { $0.value != .null && $0.value != .boolean(false) }
        var facts = given.sorted { $0.key < $1.key }.map { name, value in
            let words = value.number.flatMap { number in units[name].map { $0(number) } }
            let list = value.items.isEmpty ? nil : value.items.map(\.renderText).joined(separator: ", ")
            let label = DisplayText.words(name).replacing(" seconds", with: "").replacing(" bytes", with: " size")
            return (label: capitalized(label), value: JSONValue.text(words ?? list ?? value.renderText))
        }
        if closesTokens {
            facts.append(("Enrollment tokens", "revoked too: the tokens with which these devices last enrolled"))
        }
        return facts
    }

    /// A job with what pages show of it.
    static func shown(_ job: DeviceJobView, for visitor: Visitor) -> JSONValue {
        let isUnfinished = unfinished.contains(job.state)
        let role = DeviceAction.of(job)?.role ?? .administrator
        return JSONValue.of(job).with([
            "title": .text(title(job)), "behind": JSONValue(job.done + job.refused),
            "canCancel": .boolean(isUnfinished && visitor.role >= role),
        ])
    }

    /// The devices that were selected, and the address of their list; `nil` if they were named.
    static func selection(_ job: DeviceJobView, at visit: Visit) -> JSONValue {
        guard let filter = job.filter else { return .null }
        var filters = FormFields()
        for name in DeviceFilterLinks.names {
            let value = filter[name]
            if value != .null { filters.add(name, value.isTrue ? "true" : value.renderText) }
        }
        return [
            "words": .text(DeviceFilterLinks.words(filters)),
            "address": .text(visit.base + filters.address("/devices")),
        ]
    }

    private static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}

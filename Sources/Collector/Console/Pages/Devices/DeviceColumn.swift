import CollectorAPI
import JSON
import WireModel

/// A column of the list of devices.
struct DeviceColumn: Sendable {
    enum Kind: String, Sendable {
        case text
        case number
        case time
        /// A word of the API with a colour of its own.
        case state
        case identifier
    }

    /// The column's name in the page's address, and at the head of CSV.
    var name: String
    var label: String
    var kind = Kind.text
    /// How the API calls the order by this column; `nil` if it has none.
    var sort: String?
    /// Whether it is shown if nobody chose columns.
    var isUsual = false
    /// The value of a device as the API gives it.
    var value: @Sendable (DeviceView) -> JSONValue

    /// The name, which each row begins with.
    static let device = DeviceColumn(name: "name", label: "Name", sort: "name") { .text($0.name) }
    static let id = DeviceColumn(name: "id", label: "Id", kind: .identifier, sort: "id") { .text($0.id) }

    /// The columns that people choose from, in the order of the page.
    static let all: [DeviceColumn] = [
        DeviceColumn(name: "state", label: "State", kind: .state, sort: "state", isUsual: true) { .text($0.state) },
        DeviceColumn(name: "lastSeen", label: "Last seen", kind: .time, sort: "lastSeen", isUsual: true) {
            JSONValue($0.lastSeenAt)
        },
        DeviceColumn(name: "organization", label: "Organization") { .text($0.organization) },
        DeviceColumn(name: "os", label: "Operating system", isUsual: true) { system($0.operatingSystem) },
        DeviceColumn(name: "agentVersion", label: "Agent", isUsual: true) { .text($0.agentVersion) },
        DeviceColumn(name: "application", label: "Application", isUsual: true) { .text($0.application) },
        DeviceColumn(name: "applicationVersion", label: "Application version") { $0.beacon["applicationVersion"] },
        DeviceColumn(name: "compliance", label: "Compliance", kind: .state, isUsual: true) {
            compliance($0.verdicts)
        },
        DeviceColumn(name: "compromised", label: "Compromised") { $0.verdicts["compromised"] },
        DeviceColumn(name: "profileRevision", label: "Profile revision", kind: .number, isUsual: true) {
            .of($0.profileRevision)
        },
        DeviceColumn(name: "enrolled", label: "Enrolled", kind: .time, sort: "enrolled") { .text($0.enrolledAt) },
        DeviceColumn(name: "lastBeacon", label: "Last beacon", kind: .time) { JSONValue($0.lastBeaconAt) },
        DeviceColumn(name: "model", label: "Model") { first($0.beacon["model"], $0.identity["model"]) },
        DeviceColumn(name: "user", label: "User") {
            first($0.beacon["userDisplayName"], $0.beacon["userFullName"], $0.beacon["userEmail"])
        },
        DeviceColumn(name: "waiting", label: "Records waiting", kind: .number) { waiting($0.beacon["queue"]) },
        DeviceColumn(name: "test", label: "Test device") { .boolean($0.test) },
        DeviceColumn(name: "enrollmentToken", label: "Enrollment token", kind: .identifier) {
            JSONValue($0.enrollmentToken)
        },
        id,
    ]

    /// The columns that the address names, or the usual ones. People of all organizations also see the organization.
    static func chosen(_ visit: Visit) -> [DeviceColumn] {
        let names = Set(visit.query.all("columns").flatMap { $0.split(separator: ",").map(String.init) })
        let chosen = all.filter { names.contains($0.name) }
        guard chosen.isEmpty else { return chosen }
        return all.filter { $0.isUsual || $0.name == "organization" && visit.visitor.organization == nil }
    }

    /// One cell, for the template: its kind has the value.
    func cell(_ device: DeviceView) -> JSONValue {
        let value = value(device)
        switch (kind, value) {
        case (_, .null), (_, ""): return ["none": true]
        case (.text, .text(let text)) where text.utf8.count > Self.longBytes: return ["long": value]
        case (.text, let value): return ["text": .text(value.renderText)]
        case (let kind, let value): return [kind.rawValue: value]
        }
    }

    /// A longer text has a box of its own, so that no row is higher than a screen.
    private static let longBytes = 60

    /// The operating system in the words of the filter `os`.
    private static func system(_ system: JSONValue?) -> JSONValue {
        let name = first(system["distribution"], system["name"])
        let words = [name, system["version"]].compactMap(\.text).filter { !$0.isEmpty }
        return words.isEmpty ? .null : .text(words.joined(separator: " "))
    }

    /// The verdict on device and application together, as the filter has it.
    private static func compliance(_ verdicts: JSONValue?) -> JSONValue {
        let both = ["deviceCompliance", "applicationCompliance"].map { verdicts[$0].text ?? "unknown" }
        for word in ["non-compliant", "compliant"] where both.contains(word) { return .text(word) }
        return "unknown"
    }

    private static func waiting(_ queue: JSONValue) -> JSONValue {
        queue.items.isEmpty ? .null : .integer(queue.items.compactMap { $0["waiting"].integer }.saturatingSum)
    }

    private static func first(_ values: JSONValue...) -> JSONValue { values.first { !$0.isNull } ?? .null }
}

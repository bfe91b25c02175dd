import CollectorAPI
import JSON
import WireModel

/// Something to do on many devices at once, as a job.
struct DeviceAction: Sendable {
    /// The name in forms. A command has the name of its kind.
    var name: String
    /// The action as a heading: "Send a beacon".
    var label: String
    var role = PersonRole.operator
    /// Whether somebody fills in more before it is asked about.
    var hasOptions = false
    /// Whether a person types the number of devices, because what is lost does not come back.
    var isTyped = false
    /// The consequence, for the person who confirms it.
    var consequence: String
    /// The `action` of a job that is no command.
    var job: String?

    private static let withContact =
        "Each device does it with its next contact. A command that is not done within a day expires."

    static let all: [DeviceAction] = [
        DeviceAction(name: "send-beacon", label: "Send a beacon", consequence: withContact),
        DeviceAction(name: "query-device-information", label: "Query device information", consequence: withContact),
        DeviceAction(name: "reload-profile", label: "Reload the profile", consequence: withContact),
        DeviceAction(
            name: "change-log-level", label: "Change the log level for a while", hasOptions: true,
            consequence: withContact),
        DeviceAction(name: "request-logs", label: "Request logs", hasOptions: true, consequence: withContact),
        DeviceAction(
            name: "message", label: "Send a message", hasOptions: true,
            consequence:
                "The program on each device gets it after the device's next contact. A message that no program has "
                + "taken within a day expires."),
        DeviceAction(
            name: "do-not-disturb-on", label: "Begin do-not-disturb",
            consequence: "Samples, events and logs of these devices pause from their next contact on.",
            job: "do-not-disturb"),
        DeviceAction(
            name: "do-not-disturb-off", label: "End do-not-disturb",
            consequence: "Samples, events and logs of these devices go on with their next contact.",
            job: "do-not-disturb"),
        DeviceAction(
            name: "revoke", label: "Revoke", role: .administrator, hasOptions: true,
            consequence: "The collector refuses these devices until they are reinstated. They keep their data.",
            job: "revoke"),
        DeviceAction(
            name: "reinstate", label: "Reinstate", role: .administrator,
            consequence: "The collector takes these devices back. They connect again within a quarter of an hour.",
            job: "reinstate"),
        DeviceAction(
            name: "wipe", label: "Wipe", role: .administrator, hasOptions: true, isTyped: true,
            consequence:
                "Each device erases its records, logs and kept state, and stays enrolled. This cannot be undone."),
        DeviceAction(
            name: "enterprise-wipe", label: "Enterprise wipe", role: .administrator, hasOptions: true, isTyped: true,
            consequence:
                "Each device erases its data, its profile and its credential, and leaves. This cannot be undone."),
        DeviceAction(
            name: "delete", label: "Delete", role: .administrator, isTyped: true,
            consequence:
                "The devices disappear from all lists, with their commands and state, and their credentials are "
                + "refused for good. Their records and logs are erased within hours. This cannot be undone.",
            job: "delete"),
    ]

    /// The actions that the visitor's role allows, for a list to choose from.
    static func offered(to visitor: Visitor, chosen: String?) -> [JSONValue] {
        let offered = all.filter { visitor.role >= $0.role }
        return Choice.list(offered.map { ($0.name, $0.label) }, chosen: chosen).items
    }

    /// The action of a job.
    static func of(_ job: DeviceJobView) -> DeviceAction? {
        var name = job.kind ?? job.action
        if name == "do-not-disturb" { name = job.on == true ? "do-not-disturb-on" : "do-not-disturb-off" }
        return all.first { $0.name == name }
    }

    /// The fields of a job's request that say what is done.
    /// - Parameter form: with the options.
    func request(_ form: FormFields) throws(Problem) -> [String: JSONValue] {
        guard let job else {
            var arguments = try DeviceCommandsPage.arguments(of: name, form)
            if isTyped, let reason = form.text("reason") { arguments["reason"] = .text(reason) }
            return ["action": "command", "kind": .text(name), "arguments": .object(arguments)]
        }
        var request: [String: JSONValue] = ["action": .text(job)]
        if job == "do-not-disturb" { request["on"] = .boolean(name == "do-not-disturb-on") }
        if job == "revoke" { request["closeEnrollmentToken"] = .boolean(form.isChecked("closeEnrollmentToken")) }
        return request
    }
}

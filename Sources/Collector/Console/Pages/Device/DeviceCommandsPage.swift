import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// A device's commands with their state, and the forms to issue further ones.
struct DeviceCommandsPage: ConsolePage {
    let path = "/devices/{device}/commands"

    private static let wipes: Set = ["wipe", "enterprise-wipe"]
    private static let final: Set = ["done", "failed", "unsupported", "expired"]

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let query = visit.query.only(["cursor"]).with("limit", "50")
        let page = try await visit.api.call(.listCommands(subject.id), query)
        let commands = page.items.map { command in
            let needed: PersonRole = Self.wipes.contains(command.kind) ? .administrator : .operator
            return Self.values(of: command).with([
                "canEnd": .boolean(Self.isOpen(command) && visit.visitor.role >= needed)
            ])
        }
        return subject.answer(
            "device-commands",
            Self.choices(visit.form).merging([
                "commands": .array(commands), "more": visit.more(page.next),
                "requests": .text(visit.base + FormFields([("device", subject.id)]).address("/request-logs")),
            ]) { $1 })
    }

    /// A command with its arguments as a list, and whether it can be cancelled.
    static func values(of command: CommandView) -> JSONValue {
        JSONValue.of(command).with([
            "isOpen": .boolean(isOpen(command)),
            "canCancel": .boolean(isOpen(command) && command.kind == "request-logs"),
            "given": given(.of(command.arguments)),
        ])
    }

    private static func isOpen(_ command: CommandView) -> Bool { !final.contains(command.state) }

    /// The arguments of a command as a list, for the template `command-facts`.
    private static func given(_ arguments: JSONValue) -> JSONValue {
        .array(
            arguments.members.filter { $0.value != .null && $0.value != false }.sorted { $0.key < $1.key }.map {
                name, value in
                ["name": .text(DisplayText.words(name)), "value": .text(value.text ?? value.compactText)]
            })
    }

    /// The choices that the forms of commands offer, as they were chosen.
    static func choices(_ form: FormFields) -> [String: JSONValue] {
        func options(_ field: String, _ values: [(name: String, label: String)]) -> JSONValue {
            .array(
                values.map {
                    [
                        "name": .text($0.name), "label": .text($0.label),
                        "isChosen": .boolean(form[field] == $0.name),
                    ]
                })
        }
        return [
            "modes": options(
                "mode", [("snapshot", "snapshot: what is there now"), ("capture", "capture: what comes from now on")]),
            "types": options("type", ["all", "application", "crash"].map { ($0, $0) }),
            "levels": options("level", ["verbose", "information", "warning", "error"].map { ($0, $0) }),
        ]
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let device = visit.parameter("device")
        let here = "/devices/\(device.percentEncoded)/commands"
        if action == "end" {
            try await visit.api.call(.endCommand(device, visit.form.text("command") ?? ""))
            return .done(
                "The command is not sent any more. A device that has it may still carry it out.",
                at: here)
        }
        let kinds = [
            "send-beacon", "query-device-information", "reload-profile", "change-log-level", "request-logs", "cancel",
            "message",
        ]
        guard kinds.contains(action) else { return nil }
        let command = try await visit.api.call(
            .issueCommand(device),
            body: ["kind": .text(action), "arguments": .object(try Self.arguments(of: action, visit.form))],
            idempotencyKey: visit.formKey)
        return .done(
            "The command \(DisplayText.words(action)) waits for the device, until "
                + "\(DisplayText.time(command.expiresAt)).", at: here)
    }

    /// The arguments that a form gives, with the names of the API. Empty fields are left out.
    static func arguments(of kind: String, _ form: FormFields) throws(Problem) -> [String: JSONValue] {
        var arguments: [String: JSONValue] = [:]
        func readText(_ names: String...) {
            for name in names { if let text = form.text(name) { arguments[name] = .text(text) } }
        }
        /// A number as a number; anything else as it is, for the API to refuse by name.
        func readNumber(_ name: String, times factor: Int64 = 1) {
            guard let text = form.text(name) else { return }
            let number = Int64(text).flatMap { $0.multipliedReportingOverflow(by: factor).overflow ? nil : $0 * factor }
            arguments[name] = number.map { .integer($0) } ?? .text(text)
        }
        switch kind {
        case "cancel": readText("command")
        case "change-log-level":
            readText("level", "application")
            readNumber("durationSeconds", times: 60)
        case "request-logs":
            readText("mode", "application", "type", "level", "text")
            if arguments["mode"] == .text("capture") { readNumber("captureSeconds", times: 60) }
            readNumber("maximumBytes", times: 1_000_000)
            for name in ["since", "until"] {
                if let time = try TimeRange.time(form, name) { arguments[name] = .text(Timestamp.text(time)) }
            }
            if let categories = form.text("categories") {
                arguments["categories"] = .array(
                    categories.split(separator: ",").map {
                        .text(String($0.drop(while: \.isWhitespace)))
                    })
            }
            if form.isChecked("includeVerboseRing") { arguments["includeVerboseRing"] = .boolean(true) }
        case "message":
            // Forms end lines with CR LF.
            if let text = form.text("messageText") { arguments["text"] = .text(text.replacing("\r\n", with: "\n")) }
            if let payload = form.text("payload") {
                arguments["payload"] = .text(payload.filter { !$0.isWhitespace })
            }
            readText("contentType")
        default: break
        }
        return arguments
    }
}

import CollectorAPI
import Foundation
import JSON
import WireModel

/// The forms that lead to an action on many devices: what to do and on which devices, then the action's options, then
/// the question. The answer begins a job.
struct DeviceActionForm {
    /// The devices of a job.
    private enum Selection {
        /// Ids.
        case named([String])
        /// All devices that match the list's filters.
        case matching(FormFields)
    }

    /// The most devices that can be named in one job (`POST /api/v1/device-jobs`).
    private static let maximumNamed = 10_000
    /// The fields of the forms that are not options of an action.
    private static let own = ["action", "formToken", "what", "scope", "device", "devices", "filter", "ready"]

    private let visit: Visit
    private let action: DeviceAction

    /// - Throws: `Problem` if the form names no action. The API decides whether the visitor may do it.
    init(_ visit: Visit) throws(Problem) {
        guard let action = DeviceAction.all.first(where: { $0.name == visit.form["what"] }) else {
            throw .field("The action", "is missing: choose one.")
        }
        self.visit = visit
        self.action = action
    }

    /// Asks for the action's options, or else whether to begin.
    func ask() async throws -> Outcome {
        let selection = try selection()
        if action.hasOptions, visit.form["ready"] == nil { return .view(options(selection)) }
        do { return try await question(try await frozen(selection)) } catch let problem as Problem
            where action.hasOptions && problem.status != 401
        {
            // With what was filled in.
            var view = options(selection)
            view.values["refusal"] = [
                "title": .text(problem.title), "detail": JSONValue(problem.detail), "code": .text(problem.code),
            ]
            return .view(view)
        }
    }

    /// Begins the job that was asked about.
    func begin() async throws -> Outcome {
        let selection = try selection()
        var body = try request(selection)
        guard let confirm = visit.form.text("confirm") else {
            throw Problem.field("The confirmation", "is missing.")
        }
        if action.isTyped { try Question.requireTyped(Self.count(in: confirm), in: visit.form) }
        body["confirm"] = .text(confirm)
        let job: DeviceJobView
        do {
            job = try await visit.api.call(
                .beginDeviceJob, body: .object(body), idempotencyKey: visit.form.text("key"))
        } catch let problem as Problem where problem.code == "confirmation-outdated" {
            return try await question(
                selection, note: "Other devices match now than when you were asked, so nothing was done. ")
        }
        return .done(
            "\(action.label): the job has begun.", at: "/jobs/\(job.id.percentEncoded)")
    }

    /// The collector puts the number of devices before the confirmation's digest.
    private static func count(in confirm: String) -> String { String(confirm.prefix { $0 != "-" }) }

    // MARK: Devices

    /// - Throws: `Problem` if no device is chosen.
    private func selection() throws(Problem) -> Selection {
        if let filter = visit.form["filter"], visit.form["scope"] == "listed" {
            return .matching(FormFields(encoded: filter).only(DeviceFilterLinks.names))
        }
        let named =
            visit.form.all("device") + visit.form.all("devices").flatMap { $0.split(separator: ",").map(String.init) }
        guard !named.isEmpty else {
            throw .field("The devices", "are missing: select some in the list, or choose all that are listed.")
        }
        return .named(named)
    }

    /// The state of a device changes by itself. So devices that were selected by it are named, where that is possible:
    /// the job is for those that were there when the person was asked.
    private func frozen(_ selection: Selection) async throws -> Selection {
        guard case .matching(let filters) = selection, filters.text("state") != nil else { return selection }
        let total = try await visit.api.call(.listDevices, filters.with("limit", "1")).total ?? 0
        guard (1...Self.maximumNamed).contains(total) else { return selection }
        let devices = try await visit.api.all(.listDevices, filters)
        return .named(devices.prefix(Self.maximumNamed).map(\.id))
    }

    private func request(_ selection: Selection) throws -> [String: JSONValue] {
        var body = try action.request(visit.form)
        switch selection {
        case .named(let ids): body["devices"] = .array(ids.map { .text($0) })
        case .matching(let filters):
            body["filter"] = .object(
                Dictionary(filters.fields.map { ($0.name, .text($0.value)) }) { first, _ in first })
        }
        return body
    }

    /// The hidden fields that keep a selection from one form to the next.
    private func fields(of selection: Selection) -> FormFields {
        switch selection {
        case .named(let ids): [("what", action.name), ("devices", ids.joined(separator: ","))]
        case .matching(let filters):
            [("what", action.name), ("scope", "listed"), ("filter", filters.encoded)]
        }
    }

    // MARK: Pages

    private func options(_ selection: Selection) -> View {
        let which: String =
            switch selection {
            case .named(let ids): ids.count == 1 ? "the selected device" : "the \(ids.count) selected devices"
            case .matching(let filters): "the listed devices (\(DeviceFilterLinks.words(filters)))"
            }
        return View(
            "device-action", title: action.label,
            [
                "which": .text(which), "fields": fields(of: selection).with("ready", "yes").hidden,
                "back": .text(visit.base + visit.query.address(visit.path)),
                "isLevel": .boolean(action.name == "change-log-level"),
                "isLogs": .boolean(action.name == "request-logs"),
                "isMessage": .boolean(action.name == "message"), "isRevoke": .boolean(action.name == "revoke"),
                "isWipe": .boolean(action.isTyped),
            ].merging(DeviceCommandsPage.choices(visit.form)) { $1 })
    }

    private func question(_ selection: Selection, note: String = "") async throws -> Outcome {
        let body = try request(selection)
        let plan = try await visit.api.call(.proposeDeviceJob, body: .object(body))
        guard let confirm = plan.confirm else {
            return .done("No device is selected, so nothing is done.", at: visit.query.address(visit.path))
        }
        let count = DisplayText.count(Double(plan.devices))
        let noun = DisplayText.devices(JSONValue(plan.devices))
        var facts: [(label: String, value: JSONValue)] = [("Devices", .text(count))]
        if case .matching(let filters) = selection {
            facts.append(("Which", .text(DeviceFilterLinks.words(filters))))
        } else if let filter = visit.form["filter"], visit.form["scope"] == "listed" {
            facts.append(("Which", .text(DeviceFilterLinks.words(FormFields(encoded: filter)))))
        }
        facts += DeviceJobText.arguments(
            body["arguments"] ?? .null, closesTokens: body["closeEnrollmentToken"] == true
        ).map { ($0.label, $0.value) }
        var options = visit.form
        for name in Self.own + ["confirm", "key", "typed"] { options = options.with(name) }
        var fields = fields(of: selection)
        for field in options.fields { fields.add(field.name, field.value) }
        fields.add("confirm", confirm)
        // A form that is sent twice begins one job.
        fields.add("key", UUID().uuidString)
        return .view(
            Question(
                title: "\(action.label): \(noun)?", text: note + action.consequence, facts: facts, action: "begin",
                fields: fields, button: "\(action.label): \(noun)", back: visit.query.address(visit.path),
                typed: action.isTyped ? Self.count(in: confirm) : nil
            ).view)
    }
}

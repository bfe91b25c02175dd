import CollectorAPI
import JSON
import WireModel

/// The page where people decide about a device: do-not-disturb, revocation, wipe, deletion, predecessors. It also shows
/// what they decided.
struct DeviceManagePage: ConsolePage {
    let path = "/devices/{device}/manage"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let doNotDisturb = try await visit.api.call(.getDoNotDisturb(subject.id))
        var values: [String: JSONValue] = ["doNotDisturb": .of(doNotDisturb)]
        if visit.visitor.role >= .administrator {
            let query: FormFields = [("subject", subject.id), ("limit", "50")]
            let audit = try await visit.api.call(.listAudit, query)
            values["history"] = JSONValue.of(audit.items).table
            if audit.next != nil {
                values["moreHistory"] = .text(visit.base + FormFields([("subject", subject.id)]).address("/audit"))
            }
        }
        return subject.answer("device-manage", values)
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let device = visit.parameter("device")
        let here = visit.path
        let api = visit.api
        switch action {
        case "do-not-disturb":
            let isOn = visit.form["on"] == "true"
            try await api.call(.setDoNotDisturb(device), body: ["on": .boolean(isOn)])
            return .done(
                "Do-not-disturb \(isOn ? "begins" : "ends") with the device's next contact.", at: here)
        case "revoke":
            let closes = visit.form.isChecked("closeEnrollmentToken")
            try await api.call(.revokeDevice(device), body: ["closeEnrollmentToken": .boolean(closes)])
            return .done(
                "The device is revoked\(closes ? ", and its enrollment token too" : "").", at: here)
        case "reinstate":
            try await api.call(.reinstateDevice(device))
            return .done("The device is reinstated. It connects again within a quarter of an hour.", at: here)
        case "predecessor":
            let predecessor = visit.form.text("predecessor")
            try await api.call(.setPredecessor(device), body: ["device": JSONValue(predecessor)])
            return .done(predecessor == nil ? "It has no predecessor." : "Its predecessor is set.", at: here)
        case "successor":
            try await api.call(.setPredecessor(visit.form.text("successor") ?? ""), body: ["device": .text(device)])
            return .done("The successor is set. It shows the logs of this device with its own.", at: here)
        case "wipe": return try await wipe(visit)
        case "delete": return try await delete(visit)
        default: return nil
        }
    }

    // MARK: What cannot be undone

    private func wipe(_ visit: Visit) async throws -> Outcome {
        let subject = try await DeviceSubject(visit)
        try Self.requireName(of: subject)
        let isWhole = visit.form["kind"] == "enterprise-wipe"
        var arguments: [String: JSONValue] = [:]
        if let reason = visit.form.text("reason") { arguments["reason"] = .text(reason) }
        try await visit.api.call(
            .issueCommand(subject.id),
            body: ["kind": .text(isWhole ? "enterprise-wipe" : "wipe"), "arguments": .object(arguments)],
            idempotencyKey: visit.formKey)
        return .done(
            "The \(isWhole ? "enterprise wipe" : "wipe") waits for the device.", at: subject.address("/commands"))
    }

    /// Asks first, then deletes what was asked about.
    private func delete(_ visit: Visit) async throws -> Outcome {
        let subject = try await DeviceSubject(visit)
        guard let confirm = visit.form.text("confirm") else {
            let plan = try await visit.api.call(.deleteDevice(subject.id))
            return .view(subject.view("device-delete", ["plan": .of(plan)]))
        }
        try Self.requireName(of: subject)
        try await visit.api.call(.deleteDevice(subject.id), [("confirm", confirm)])
        return .done(
            "The device \(subject.name) is deleted. Its records and logs are erased within hours.", at: "/devices")
    }

    /// A person types the name, so that nobody erases another device by a slip.
    private static func requireName(of subject: DeviceSubject) throws(Problem) {
        guard subject.isNamed(subject.visit.form["confirmName"]) else {
            throw Problem(
                status: 422, code: .invalidField, title: "Another name",
                detail: "The name that was typed is not that of this device. Nothing was done.")
        }
    }
}

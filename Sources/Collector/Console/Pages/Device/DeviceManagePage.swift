import JSON

/// The page where people decide about a device: do-not-disturb, revocation, wipe, deletion, predecessors. It also shows
/// what they decided.
struct DeviceManagePage: Page {
    let path = "/devices/{device}/manage"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let doNotDisturb = try await visit.api.get("\(subject.path)/do-not-disturb")
        var values: [String: JSONValue] = ["doNotDisturb": doNotDisturb]
        if visit.visitor.role >= .administrator {
            let query: FormFields = [("subject", subject.id), ("limit", "50")]
            let audit = try await visit.api.get("/api/v1/audit", query)
            values["history"] = audit["items"].table
            if audit["next"] != .null {
                values["moreHistory"] = .text(visit.base + FormFields([("subject", subject.id)]).address("/audit"))
            }
        }
        return subject.answer("device-manage", values)
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let device = "/api/v1/devices/\(visit.segment("device"))"
        let here = visit.path
        let api = visit.api
        switch action {
        case "do-not-disturb":
            let isOn = visit.form["on"] == "true"
            try await api.send("PUT", "\(device)/do-not-disturb", body: ["on": .boolean(isOn)])
            return .done(
                "Do-not-disturb \(isOn ? "begins" : "ends") with the device's next contact.", at: here)
        case "revoke":
            let closes = visit.form.isChecked("closeEnrollmentToken")
            try await api.send("POST", "\(device)/revoke", body: ["closeEnrollmentToken": .boolean(closes)])
            return .done(
                "The device is revoked\(closes ? ", and its enrollment token too" : "").", at: here)
        case "reinstate":
            try await api.send("POST", "\(device)/reinstate")
            return .done("The device is reinstated. It connects again within a quarter of an hour.", at: here)
        case "predecessor":
            let predecessor = visit.form.text("predecessor")
            try await api.send("POST", "\(device)/predecessor", body: ["device": JSONValue(predecessor)])
            return .done(predecessor == nil ? "It has no predecessor." : "Its predecessor is set.", at: here)
        case "successor":
            let successor = (visit.form.text("successor") ?? "").percentEncoded
            try await api.send(
                "POST", "/api/v1/devices/\(successor)/predecessor", body: ["device": .text(visit.parameter("device"))])
            return .done("The successor is set. It shows the logs of this device with its own.", at: here)
        case "wipe": return try await wipe(visit, device)
        case "delete": return try await delete(visit, device)
        default: return nil
        }
    }

    // MARK: What cannot be undone

    private func wipe(_ visit: Visit, _ path: String) async throws -> Outcome {
        let subject = try await DeviceSubject(visit)
        try Self.requireName(of: subject)
        let isWhole = visit.form["kind"] == "enterprise-wipe"
        var arguments: [String: JSONValue] = [:]
        if let reason = visit.form.text("reason") { arguments["reason"] = .text(reason) }
        try await visit.api.send(
            "POST", "\(path)/commands",
            body: ["kind": .text(isWhole ? "enterprise-wipe" : "wipe"), "arguments": .object(arguments)],
            idempotencyKey: visit.formKey)
        return .done(
            "The \(isWhole ? "enterprise wipe" : "wipe") waits for the device.", at: subject.address("/commands"))
    }

    /// Asks first, then deletes what was asked about.
    private func delete(_ visit: Visit, _ path: String) async throws -> Outcome {
        guard let confirm = visit.form.text("confirm") else {
            let subject = try await DeviceSubject(visit)
            let plan = try await visit.api.send("DELETE", path)
            return .view(subject.view("device-delete", ["plan": plan]))
        }
        let subject = try await DeviceSubject(visit)
        try Self.requireName(of: subject)
        try await visit.api.send("DELETE", path, [("confirm", confirm)])
        return .done("The device \(subject.name) is deleted. Its logs stay until they are deleted.", at: "/devices")
    }

    /// A person types the name, so that nobody erases another device by a slip.
    private static func requireName(of subject: DeviceSubject) throws(APIProblem) {
        guard subject.isNamed(subject.visit.form["confirmName"]) else {
            throw APIProblem(
                status: 422, code: "invalid-field", title: "Another name",
                detail: "The name that was typed is not that of this device. Nothing was done.")
        }
    }
}

import JSON
import WireModel
import TelemetryBasics

/// Request Logs: a form that asks one or several devices for their logs, and what has become of such requests.
struct LogRequestsPage: Page {
    let path = "/request-logs"

    /// The number of requests that are shown of each chosen device.
    private static let requestsShown = 10
    /// The live topics of one page.
    private static let maximumTopics = 8

    /// The fields of the form besides the devices.
    private static let fieldNames = [
        "mode", "captureSeconds", "application", "type", "level", "since", "until", "categories", "text",
        "maximumBytes", "includeVerboseRing",
    ]

    func view(_ visit: Visit) async throws -> Answer {
        if let answer = try await ChosenDevices.search(visit) { return answer }
        if let id = visit.query.text("job") { return .view(try await job(id, visit)) }
        let devices = try await ChosenDevices(visit)
        var (requests, more) = ([JSONValue](), JSONValue.null)
        if ChosenDevices.ids(visit.query).isEmpty {
            (requests, more) = try await requestsOfAll(visit)
        } else {
            for device in devices.devices { requests += try await self.requests(of: device, visit) }
            requests.sort { $0["issuedAt"].text ?? "" > $1["issuedAt"].text ?? "" }
        }
        let jobs = try await visit.api.get("/api/v1/device-jobs", [("limit", "100")]).pageItems.filter {
            $0["kind"].text == "request-logs"
        }
        let ids = devices.devices.compactMap { $0["id"].text }
        return .view(
            View(
                "log-requests", title: "Request Logs",
                DeviceCommandsPage.choices(visit.form).merging([
                    "devices": devices.values(at: visit), "hasDevices": .boolean(!ids.isEmpty),
                    "deviceIDs": .array(ids.map { .text($0) }),
                    "logs": .text(visit.base + visit.query.only(["device"]).address("/logs")),
                    "requests": .array(requests), "more": more,
                    "jobs": .array(jobs.prefix(20).map { Self.values(ofJob: $0, base: visit.base) }),
                    "hasJobs": .boolean(!jobs.isEmpty),
                    "topics": .text(Self.topics(ids)),
                ]) { $1 }))
    }

    /// The topics that say that requests of these devices have come on; for too many, or all, that log text has come.
    private static func topics(_ devices: [String]) -> String {
        devices.isEmpty || devices.count > maximumTopics
            ? "logs" : devices.map { "commands:\($0)" }.joined(separator: ",")
    }

    private func requestsOfAll(_ visit: Visit) async throws -> (requests: [JSONValue], more: JSONValue) {
        let query: FormFields = [("kind", "request-logs"), ("limit", "20")]
        let page = try await visit.api.get(
            "/api/v1/device-commands", query.with("cursor", visit.query.text("cursor")))
        var (devices, requests) = ([String: JSONValue](), [JSONValue]())
        for command in page.pageItems {
            let id = command["device"].text ?? ""
            if devices[id] == nil {
                devices[id] = try await visit.api.find("/api/v1/devices/\(id.percentEncoded)") ?? ["id": .text(id)]
            }
            requests.append(Self.values(of: command, devices[id] ?? .null, base: visit.base))
        }
        return (requests, page.more(at: visit))
    }

    private func requests(of device: JSONValue, _ visit: Visit) async throws -> [JSONValue] {
        let id = device["id"].text ?? ""
        let page = try await visit.api.get("/api/v1/devices/\(id.percentEncoded)/commands", [("limit", "100")])
        return page.pageItems.filter { $0["kind"].text == "request-logs" }.prefix(Self.requestsShown).map {
            Self.values(of: $0, device, base: visit.base)
        }
    }

    /// A request with its device, and the way to the lines once some are there.
    private static func values(of command: JSONValue, _ device: JSONValue, base: String) -> JSONValue {
        let id = device["id"].text ?? ""
        let stored = command["uploads"].items.compactMap { $0["storedChunks"].integer }.saturatingSum
        return DeviceCommandsPage.values(of: command).with([
            "device": .text(id), "deviceName": .text(ChosenDevices.name(of: device)), "deviceID": .text(id),
            "expectation": .text(expectation(of: device)),
            "lines": stored > 0 ? .text(base + lines(of: command, device).address("/logs/view")) : .null,
        ])
    }

    /// The filter that shows what a request asked for. Lines have the device's times, so the end of a capture is not
    /// known exactly, and the filter leaves it open.
    private static func lines(of command: JSONValue, _ device: JSONValue) -> FormFields {
        let asked = command["arguments"]
        let isCapture = asked["mode"].text == "capture"
        return FormFields([("device", device["id"].text ?? "")]).with("test", device["test"].isTrue ? "true" : nil)
            .with("application", asked["application"].text)
            .with("type", asked["type"].text).with("level", asked["level"].text)
            .with(
                "category",
                asked["categories"].items.isEmpty
                    ? nil : asked["categories"].items.compactMap(\.text).joined(separator: ",")
            )
            .with("text", asked["text"].text)
            .with("from", isCapture ? command["issuedAt"].text : asked["since"].text)
            .with("to", isCapture ? nil : asked["until"].text)
    }

    /// When a device will hear of a request. It does with each contact, and a beacon is the one that is foreseen.
    private static func expectation(of device: JSONValue) -> String {
        let last = device["lastSeenAt"].text.map { "It was last seen \(DisplayText.time($0))." } ?? "It was never seen."
        switch device["state"].text {
        case "left", "revoked": return "The device has left. It gets no request until it enrolls again."
        case "off": return "Telemetry is switched off on the device: it refuses the request. \(last)"
        case "late", "silent": return "The device is overdue, and answers when it is back. \(last)"
        default: break
        }
        guard let next = DeviceSubject.nextBeacon(of: device) else {
            return "The device has told no schedule of beacons, and answers with its next contact. \(last)"
        }
        return "The device answers with its next contact, at the latest with the beacon expected "
            + "\(DisplayText.time(next))."
    }

    // MARK: Requests to several devices

    private static func values(ofJob job: JSONValue, base: String) -> JSONValue {
        let id = job["id"].text ?? ""
        return job.with([
            "address": .text(base + FormFields([("job", id)]).address("/request-logs")),
            "isOpen": .boolean(["preparing", "running"].contains(job["state"].text)),
            "given": DeviceCommandsPage.values(of: job)["given"],
        ])
    }

    /// A request to several devices with what has come of it on each.
    private func job(_ id: String, _ visit: Visit) async throws -> View {
        let job = try await visit.api.get("/api/v1/device-jobs/\(id.percentEncoded)")
        let query = FormFields([("limit", "50")]).with("cursor", visit.query.text("cursor"))
        let page = try await visit.api.get("/api/v1/device-jobs/\(id.percentEncoded)/devices", query)
        var rows: [JSONValue] = []
        for result in page.pageItems {
            let path = "/api/v1/devices/\((result["device"].text ?? "").percentEncoded)"
            var row = result
            if let id = result["command"].text, let device = try await visit.api.find(path),
                let command = try await visit.api.find("\(path)/commands/\(id.percentEncoded)")
            {
                row = row.with(["request": Self.values(of: command, device, base: visit.base)])
            }
            rows.append(row)
        }
        return View(
            "log-request-job", title: "A request to several devices",
            [
                "job": Self.values(ofJob: job, base: visit.base), "rows": .array(rows), "more": page.more(at: visit),
                "topics": .text(Self.topics(page.pageItems.compactMap { $0["device"].text })),
            ])
    }

    // MARK: Forms

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let devices = ChosenDevices.ids(visit.form)
        switch action {
        case "request-logs":
            let arguments = JSONValue.object(
                try DeviceCommandsPage.arguments(of: "request-logs", visit.form))
            guard let device = devices.first else {
                throw APIProblem.field("The device", "is missing: search for one first.")
            }
            guard devices.count > 1 else {
                try await visit.api.send(
                    "POST", "/api/v1/devices/\(device.percentEncoded)/commands",
                    body: ["kind": "request-logs", "arguments": arguments], idempotencyKey: visit.formKey)
                return .done("The request waits for the device.", at: Self.address(devices))
            }
            return try await requestFromSeveral(devices, arguments, visit)
        case "cancel":
            guard let device = devices.first else { return nil }
            try await visit.api.send(
                "POST", "/api/v1/devices/\(device.percentEncoded)/commands",
                body: ["kind": "cancel", "arguments": ["command": JSONValue(visit.form.text("command"))]])
            return .done("The request is cancelled with the device's next contact.")
        case "cancel-job":
            let job = (visit.form.text("job") ?? "").percentEncoded
            try await visit.api.send("POST", "/api/v1/device-jobs/\(job)/cancel")
            return .done("No further device gets the request. Those that have it go on.")
        default: return nil
        }
    }

    /// Asks first, and begins with the answer.
    private func requestFromSeveral(
        _ devices: [String], _ arguments: JSONValue, _ visit: Visit
    ) async throws -> Outcome {
        var body: [String: JSONValue] = [
            "action": "command", "kind": "request-logs", "arguments": arguments,
            "devices": .array(devices.map { .text($0) }),
        ]
        if let confirm = visit.form.text("confirm") {
            body["confirm"] = .text(confirm)
            let job = try await visit.api.send(
                "POST", "/api/v1/device-jobs", body: .object(body), idempotencyKey: visit.formKey)
            return .done(
                "The request goes to \(DisplayText.devices(.integer(Int64(devices.count)))).",
                at: FormFields([("job", job["id"].text ?? "")]).address(path))
        }
        let plan = try await visit.api.send("POST", "/api/v1/device-jobs", body: .object(body))
        let given = DeviceCommandsPage.values(of: ["arguments": arguments])["given"].items
        return .view(
            Question(
                title: "Request logs of \(DisplayText.devices(plan["devices"]))?",
                text: "Each device sends its logs when it is in contact, as far as the quotas of logs allow.",
                facts: given.map { ($0["name"].renderText, $0["value"]) }, action: "request-logs",
                fields: visit.form.only(["device"] + Self.fieldNames).with("confirm", plan["confirm"].text),
                button: "Request the logs", back: Self.address(devices)
            ).view)
    }

    private static func address(_ devices: [String]) -> String {
        FormFields(devices.map { ("device", $0) }).address("/request-logs")
    }
}

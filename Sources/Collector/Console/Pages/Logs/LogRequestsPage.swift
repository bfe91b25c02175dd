import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// Request Logs: a form that asks one or several devices for their logs, and what has become of such requests.
struct LogRequestsPage: ConsolePage {
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
            var made: [(CommandView, DeviceView)] = []
            for device in devices.devices {
                made += try await self.requests(of: device.id, visit).map { ($0, device) }
            }
            requests = made.sorted { $0.0.issuedAt > $1.0.issuedAt }.map {
                Self.values(of: $0, $1, base: visit.base)
            }
        }
        let jobs = try await visit.api.call(.listDeviceJobs, [("limit", "100")]).items.filter {
            $0.kind == "request-logs"
        }
        let ids = devices.devices.map(\.id)
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
        let page = try await visit.api.call(.listAllCommands, query.with("cursor", visit.query.text("cursor")))
        var (devices, requests) = ([String: DeviceView](), [JSONValue]())
        for command in page.items {
            // Of a deleted device only the id is known.
            var device = DeviceView()
            device.id = command.device
            if let read = devices[command.device] {
                device = read
            } else if let found = try await visit.api.find(.getDevice(command.device)) {
                device = found
            }
            devices[command.device] = device
            requests.append(Self.values(of: command, device, base: visit.base))
        }
        return (requests, visit.more(page.next))
    }

    private func requests(of device: String, _ visit: Visit) async throws -> ArraySlice<CommandView> {
        try await visit.api.call(.listCommands(device), [("limit", "100")]).items.filter { $0.kind == "request-logs" }
            .prefix(Self.requestsShown)
    }

    /// A request with its device, and the way to the lines once some are there.
    private static func values(of command: CommandView, _ device: DeviceView, base: String) -> JSONValue {
        let stored = (command.uploads ?? []).map(\.storedChunks).saturatingSum
        return DeviceCommandsPage.values(of: command).with([
            "deviceName": .text(ChosenDevices.name(of: device)), "deviceID": .text(device.id),
            "expectation": .text(expectation(of: device)),
            "lines": stored > 0 ? .text(base + lines(of: command, device).address("/logs/view")) : .null,
        ])
    }

    /// The filter that shows what a request asked for. Lines have the device's times, so the end of a capture is not
    /// known exactly, and the filter leaves it open.
    private static func lines(of command: CommandView, _ device: DeviceView) -> FormFields {
        let asked = command.arguments
        let isCapture = asked.mode == "capture"
        let categories = (asked.categories ?? []).joined(separator: ",")
        return FormFields([("device", device.id)]).with("test", device.test ? "true" : nil)
            .with("application", asked.application).with("type", asked.type).with("level", asked.level)
            .with("category", categories.isEmpty ? nil : categories).with("text", asked.text)
            .with("from", isCapture ? command.issuedAt : asked.since).with("to", isCapture ? nil : asked.until)
    }

    /// When a device will hear of a request. It does with each contact, and a beacon is the one that is foreseen.
    private static func expectation(of device: DeviceView) -> String {
        let last = device.lastSeenAt.map { "It was last seen \(DisplayText.time($0))." } ?? "It was never seen."
        switch device.state {
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

    private static func values(ofJob job: DeviceJobView, base: String) -> JSONValue {
        JSONValue.of(job).with([
            "address": .text(base + FormFields([("job", job.id)]).address("/request-logs")),
            "isOpen": .boolean(["preparing", "running"].contains(job.state)),
            "given": .array(DeviceJobText.arguments(job).map { ["name": .text($0.label), "value": $0.value] }),
        ])
    }

    /// A request to several devices with what has come of it on each.
    private func job(_ id: String, _ visit: Visit) async throws -> View {
        let job = try await visit.api.call(.getDeviceJob(id))
        let query = FormFields([("limit", "50")]).with("cursor", visit.query.text("cursor"))
        let page = try await visit.api.call(.listDeviceJobResults(id), query)
        var rows: [JSONValue] = []
        for result in page.items {
            var row = JSONValue.of(result)
            if let id = result.command, let device = try await visit.api.find(.getDevice(result.device)),
                let command = try await visit.api.find(.getCommand(result.device, id))
            {
                row = row.with(["request": Self.values(of: command, device, base: visit.base)])
            }
            rows.append(row)
        }
        return View(
            "log-request-job", title: "A request to several devices",
            [
                "job": Self.values(ofJob: job, base: visit.base), "rows": .array(rows), "more": visit.more(page.next),
                "topics": .text(Self.topics(page.items.map(\.device))),
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
                throw Problem.field("The device", "is missing: search for one first.")
            }
            guard devices.count > 1 else {
                try await visit.api.call(
                    .issueCommand(device), body: ["kind": "request-logs", "arguments": arguments],
                    idempotencyKey: visit.formKey)
                return .done("The request waits for the device.", at: Self.address(devices))
            }
            return try await requestFromSeveral(devices, arguments, visit)
        case "cancel":
            guard let device = devices.first else { return nil }
            try await visit.api.call(
                .issueCommand(device),
                body: ["kind": "cancel", "arguments": ["command": JSONValue(visit.form.text("command"))]])
            return .done("The request is cancelled with the device's next contact.")
        case "cancel-job":
            try await visit.api.call(.cancelDeviceJob(visit.form.text("job") ?? ""))
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
            let job = try await visit.api.call(
                .beginDeviceJob, body: .object(body), idempotencyKey: visit.formKey)
            return .done(
                "The request goes to \(DisplayText.devices(.integer(Int64(devices.count)))).",
                at: FormFields([("job", job.id)]).address(path))
        }
        let plan = try await visit.api.call(.proposeDeviceJob, body: .object(body))
        return .view(
            Question(
                title: "Request logs of \(DisplayText.devices(JSONValue(plan.devices)))?",
                text: "Each device sends its logs when it is in contact, as far as the quotas of logs allow.",
                facts: DeviceJobText.arguments(arguments, closesTokens: false), action: "request-logs",
                fields: visit.form.only(["device"] + Self.fieldNames).with("confirm", plan.confirm),
                button: "Request the logs", back: Self.address(devices)
            ).view)
    }

    private static func address(_ devices: [String]) -> String {
        FormFields(devices.map { ("device", $0) }).address("/request-logs")
    }
}

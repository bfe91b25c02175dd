import JSON

/// The actions on many devices, newest first.
struct JobsPage: Page {
    let path = "/jobs"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.get("/api/v1/device-jobs", visit.query.only(["cursor"]).with("limit", "50"))
        let jobs = page.pageItems.map { DeviceJobText.shown($0, for: visit.visitor) }
        return .view(
            View(
                "jobs", title: "Jobs",
                [
                    "table": JSONValue.array(jobs).table, "more": page.more(at: visit),
                    "isFirst": .boolean(visit.query["cursor"] == nil),
                ]))
    }
}

/// One action on many devices: how far it is, and what became of it for each device.
struct JobPage: Page {
    let path = "/jobs/{job}"

    private static let results = ["done", "refused", "waiting"]

    func view(_ visit: Visit) async throws -> Answer {
        let api = "/api/v1/device-jobs/\(visit.segment("job"))"
        let job = try await visit.api.get(api)
        let filter = visit.query.only(["result"])
        if visit.query["format"] == "csv" {
            let columns = ["device", "name", "result", "code", "detail", "command", "at"]
            let pages = try await CSVPages(visit, "\(api)/devices", filter, columns: columns) { result in
                columns.map { result[$0].renderText }
            }
            return .longCSV(name: "job-\(job["id"].renderText).csv", pages)
        }
        let page = try await visit.api.get("\(api)/devices", visit.query.only(["result", "cursor"]))
        let items = page.pageItems
        let chosen = filter["result"]
        let kinds =
            [(name: String?.none, label: "All", count: job["devices"])]
            + Self.results.map { (name: $0, label: DisplayText.words($0), count: job[$0]) }
        return .view(
            View(
                "job", title: DeviceJobText.title(job),
                [
                    "job": DeviceJobText.shown(job, for: visit.visitor),
                    "given": .array(
                        DeviceJobText.arguments(job).map { ["label": .text($0.label), "value": $0.value] }),
                    "selection": DeviceJobText.selection(job, at: visit),
                    "kinds": .array(
                        kinds.map { kind in
                            [
                                "label": .text(kind.label), "count": kind.count,
                                "isHere": .boolean(kind.name == chosen),
                                "address": .text(
                                    visit.base + FormFields().with("result", kind.name).address(visit.path)),
                            ]
                        }),
                    "table": JSONValue.array(items).table, "more": page.more(at: visit),
                    "csv": .text(visit.base + filter.with("format", "csv").address(visit.path)),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let api = "/api/v1/device-jobs/\(visit.segment("job"))"
        switch action {
        case "ask-cancel":
            let job = try await visit.api.get(api)
            return .view(
                Question(
                    title: "Cancel this job?",
                    text: "Devices that the job has not come to are left alone. What is done stays done.",
                    facts: [
                        ("Action", .text(DeviceJobText.title(job))),
                        (
                            "Done or refused",
                            .text(DisplayText.count((job["done"].number ?? 0) + (job["refused"].number ?? 0)))
                        ),
                        ("Waiting", .text(DisplayText.count(job["waiting"].number ?? 0))),
                    ],
                    action: "cancel", button: "Cancel the job", back: visit.path
                ).view)
        case "cancel":
            let job = try await visit.api.send("POST", "\(api)/cancel")
            let isCancelled = job["state"].text == "cancelled"
            return .done(
                isCancelled ? "The job is cancelled." : "The job had ended already; nothing has changed.",
                at: visit.path)
        default: return nil
        }
    }
}

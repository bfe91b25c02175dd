import CollectorAPI
import JSON

/// The actions on many devices, newest first.
struct JobsPage: ConsolePage {
    let path = "/jobs"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.call(.listDeviceJobs, visit.query.only(["cursor"]).with("limit", "50"))
        let jobs = page.items.map { DeviceJobText.shown($0, for: visit.visitor) }
        return .view(
            View(
                "jobs", title: "Jobs",
                [
                    "table": JSONValue.array(jobs).table, "more": visit.more(page.next),
                    "isFirst": .boolean(visit.query["cursor"] == nil),
                ]))
    }
}

/// One action on many devices: how far it is, and what became of it for each device.
struct JobPage: ConsolePage {
    let path = "/jobs/{job}"

    func view(_ visit: Visit) async throws -> Answer {
        let job = try await visit.api.call(.getDeviceJob(visit.parameter("job")))
        let filter = visit.query.only(["result"])
        if visit.query["format"] == "csv" {
            let columns = ["device", "name", "result", "code", "detail", "command", "at"]
            let pages = try await CSVPages(visit, .listDeviceJobResults(job.id), filter, columns: columns) { result in
                [
                    result.device, result.name, result.result, result.code, result.detail, result.command, result.at,
                ].map { DisplayText.visible($0 ?? "") }
            }
            return .longCSV(name: "job-\(job.id).csv", pages)
        }
        let page = try await visit.api.call(.listDeviceJobResults(job.id), visit.query.only(["result", "cursor"]))
        let chosen = filter["result"]
        let kinds =
            [(name: String?.none, label: "All", count: job.devices)]
            + [("done", job.done), ("refused", job.refused), ("waiting", job.waiting)].map { name, count in
                (name: name, label: DisplayText.words(name), count: count)
            }
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
                                "label": .text(kind.label), "count": JSONValue(kind.count),
                                "isHere": .boolean(kind.name == chosen),
                                "address": .text(
                                    visit.base + FormFields().with("result", kind.name).address(visit.path)),
                            ]
                        }),
                    "table": JSONValue.of(page.items).table, "more": visit.more(page.next),
                    "csv": .text(visit.base + filter.with("format", "csv").address(visit.path)),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        let id = visit.parameter("job")
        switch action {
        case "ask-cancel":
            let job = try await visit.api.call(.getDeviceJob(id))
            return .view(
                Question(
                    title: "Cancel this job?",
                    text: "Devices that the job has not come to are left alone. What is done stays done.",
                    facts: [
                        ("Action", .text(DeviceJobText.title(job))),
                        (
                            "Done or refused",
                            .text(DisplayText.count(Double(job.done + job.refused)))
                        ),
                        ("Waiting", .text(DisplayText.count(Double(job.waiting)))),
                    ],
                    action: "cancel", button: "Cancel the job", back: visit.path
                ).view)
        case "cancel":
            let job = try await visit.api.call(.cancelDeviceJob(id))
            let isCancelled = job.state == "cancelled"
            return .done(
                isCancelled ? "The job is cancelled." : "The job had ended already; nothing has changed.",
                at: visit.path)
        default: return nil
        }
    }
}

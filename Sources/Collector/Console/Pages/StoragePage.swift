import JSON

/// The page that shows which records the collector keeps and until when, and how to remove them early.
struct StoragePage: Page {
    let path = "/storage"
    let role = Visitor.Role.administrator

    private static let streams = ["status", "event", "sample"]

    func view(_ visit: Visit) async throws -> Answer {
        let retention = try await visit.api.get("/api/v1/retention")
        let capacity = try await visit.api.find("/api/v1/capacity")
        let limits = Dictionary(
            (capacity?["streams"].items ?? []).map { ($0["stream"].text ?? "", $0) }, uniquingKeysWith: { $1 })
        let streams = retention["streams"].items.map { stream in
            stream.with(["capacity": limits[stream["stream"].text ?? ""] ?? .null])
        }
        let chosen = visit.form.all("streams")
        return .view(
            View(
                "storage", title: "Storage",
                [
                    "retention": retention.with(["streams": .array(streams)]),
                    "capacity": capacity.map(CapacityView.values) ?? .null,
                    "streams": .array(
                        Self.streams.map {
                            ["name": .text($0), "isChosen": .boolean(chosen.isEmpty || chosen.contains($0))]
                        }),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        switch action {
        case "release":
            let answer = try await visit.api.send("POST", "/api/v1/retention/release")
            return .done(
                answer["released"].isTrue
                    ? "Retention goes on. It removes old records within the hour."
                    : "Retention did not wait; nothing has changed.")
        case "ask-purge":
            let plan = try await visit.api.send(
                "POST", "/api/v1/records/purge", body: try Self.selection(visit.form))
            guard plan["files"].integer ?? 0 > 0 else {
                return .done("No record is that old; nothing would be removed.")
            }
            return .view(Self.question(plan, visit.form))
        case "purge":
            var body = try Self.selection(visit.form).members
            body["confirm"] = JSONValue(visit.form.text("confirm"))
            try await visit.api.send("POST", "/api/v1/records/purge", body: .object(body))
            return .done("The records are removed within ten seconds. This page then shows the result.")
        default: return nil
        }
    }

    private static func selection(_ form: FormFields) throws(APIProblem) -> JSONValue {
        let chosen = form.all("streams")
        guard !chosen.isEmpty else { throw .field("The kind of records", "is missing: choose at least one.") }
        guard let days = try form.integer("olderThanDays", label: "The age in days") else {
            throw .field("The age in days", "is missing.")
        }
        return ["olderThanDays": days, "streams": .array(chosen.map { .text($0) })]
    }

    private static func question(_ plan: JSONValue, _ form: FormFields) -> View {
        let streams = plan["streams"].items.map { stream in
            (
                label: "\(stream["stream"].renderText) records",
                value: JSONValue.text(
                    "\(DisplayText.bytes(stream["bytes"].number ?? 0)) of \(stream.counted("files", "day")), "
                        + "\(stream["oldest"].renderText) to \(stream["newest"].renderText)")
            )
        }
        return Question(
            title: "Remove \(DisplayText.bytes(plan["bytes"].number ?? 0)) of records?",
            text: "Records of all organizations are removed for good. The balance keeps their counts, and devices do "
                + "not send them again.",
            facts: streams, action: "purge",
            fields: form.only(["olderThanDays", "streams"]).with("confirm", plan["confirm"].text),
            button: "Remove the records", back: "/storage"
        ).view
    }
}

import CollectorAPI
import JSON
import WireModel

/// The page that shows which records the collector keeps and until when, and how to remove them early.
struct StoragePage: ConsolePage {
    let path = "/storage"
    let role = PersonRole.administrator

    private static let streams = ["status", "event", "sample"]

    func view(_ visit: Visit) async throws -> Answer {
        let retention = try await visit.api.call(.getRetention)
        let capacity = try await visit.api.find(.getCapacity)
        let streams = retention.streams.map { stream in
            JSONValue.of(stream).with([
                "capacity": .of(capacity?.streams.first { $0.stream == stream.stream })
            ])
        }
        let chosen = visit.form.all("streams")
        return .view(
            View(
                "storage", title: "Storage",
                [
                    "retention": JSONValue.of(retention).with(["streams": .array(streams)]),
                    "capacity": capacity.map(CapacityCard.values) ?? .null,
                    "streams": .array(
                        Self.streams.map {
                            ["name": .text($0), "isChosen": .boolean(chosen.isEmpty || chosen.contains($0))]
                        }),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        switch action {
        case "release":
            let answer = try await visit.api.call(.releaseRetention)
            return .done(
                answer.released
                    ? "Retention goes on. It removes old records within the hour."
                    : "Retention did not wait; nothing has changed.")
        case "ask-purge":
            let plan = try await visit.api.call(.purgeRecords, body: try Self.selection(visit.form))
            guard plan.files > 0 else {
                return .done("No record is that old; nothing would be removed.")
            }
            return .view(Self.question(plan, visit.form))
        case "purge":
            var body = try Self.selection(visit.form).members
            body["confirm"] = JSONValue(visit.form.text("confirm"))
            try await visit.api.call(.purgeRecords, body: .object(body))
            return .done("The records are removed within ten seconds. This page then shows the result.")
        default: return nil
        }
    }

    private static func selection(_ form: FormFields) throws(Problem) -> JSONValue {
        let chosen = form.all("streams")
        guard !chosen.isEmpty else { throw .field("The kind of records", "is missing: choose at least one.") }
        guard let days = try form.integer("olderThanDays", label: "The age in days") else {
            throw .field("The age in days", "is missing.")
        }
        return ["olderThanDays": days, "streams": .array(chosen.map { .text($0) })]
    }

    private static func question(_ plan: PurgeView, _ form: FormFields) -> View {
        let streams = plan.streams.map { stream in
            (
                label: "\(stream.stream) records",
                value: JSONValue.text(
                    "\(DisplayText.bytes(Double(stream.bytes))) of \(DisplayText.counted(stream.files, "day")), "
                        + "\(stream.oldest) to \(stream.newest)")
            )
        }
        return Question(
            title: "Remove \(DisplayText.bytes(Double(plan.bytes))) of records?",
            text: "Records of all organizations are removed for good. The balance keeps their counts, and devices do "
                + "not send them again.",
            facts: streams, action: "purge",
            fields: form.only(["olderThanDays", "streams"]).with("confirm", plan.confirm),
            button: "Remove the records", back: "/storage"
        ).view
    }
}

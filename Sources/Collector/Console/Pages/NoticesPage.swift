import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// The notices that an administrator should know, with what to do about them.
struct NoticesPage: ConsolePage {
    let path = "/notices"

    /// The codes of the API.
    static let codes = [
        "broker-unreachable",
        "certificate-expiry", "device-compromised", "device-non-compliant", "device-replaced", "device-silent",
        "devices-silent", "disk-low", "forward-failing", "identity-conflict", "log-quota-100", "log-quota-75",
        "logs-arrived",
        "queue-damaged",
        "record-file", "record-file-salvaged", "record-quota-100", "record-quota-75", "records-lost",
        "retention-failed", "retention-waiting", "token-expiry",
        "upload-expired",
    ]

    private static let durations: [(value: String, label: String)] = [
        ("3600", "1 hour"), ("86400", "1 day"), ("604800", "7 days"), ("2592000", "30 days"),
        ("", "until it is unmuted"),
    ]

    func view(_ visit: Visit) async throws -> Answer {
        let filters = visit.query.only(["open", "code", "subject"])
        let page = try await visit.api.call(.listNotices, visit.query.only(["open", "code", "subject", "cursor"]))
        let mayMute = visit.visitor.role >= .operator
        let durations = Choice.list(Self.durations, chosen: "86400")
        return .view(
            View(
                "notices", title: "Notices",
                [
                    "items": .array(
                        page.items.map {
                            JSONValue.of($0).with([
                                "mayMute": .boolean(mayMute), "durations": durations, "isOnItsPage": .boolean(true),
                            ])
                        }),
                    "openCount": JSONValue(page.openCount), "more": visit.more(page.next),
                    "opens": Choice.list(
                        [("", "all"), ("true", "only those that last")], chosen: visit.query["open"]),
                    "codes": Choice.list(
                        [("", "all")] + Self.codes.map { ($0, DisplayText.words($0)) }, chosen: visit.query["code"]),
                    "isFiltered": .boolean(!filters.isEmpty),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard let id = visit.form.text("notice") else { return nil }
        switch action {
        case "mute":
            let seconds = try visit.form.integer("seconds", label: "The duration")?.integer
            guard (seconds ?? 1) > 0, (seconds ?? 1) <= 366 * 86_400 else {
                throw Problem.field("The duration", "must be at most 366 days.")
            }
            let until = seconds.map { JSONValue.text(Timestamp.text(visit.now + $0 * 1_000_000)) }
            try await visit.api.call(.muteNotice(id), body: until.map { ["until": $0] })
            return .done("The notice is muted, and so are later ones of its kind about the same subject.")
        case "unmute":
            try await visit.api.call(.unmuteNotice(id))
            return .done("The notice is no longer muted.")
        default: return nil
        }
    }
}

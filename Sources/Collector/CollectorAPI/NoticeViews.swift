/// A notice: what an administrator should know, with the remedy.
package struct NoticeView: Codable, Equatable, Sendable {
    package var id = ""
    package var code = ""
    package var organization = ""
    package var subject = ""
    package var detail = ""
    /// How many records it is about, or how often a history has diverged; absent if it counts neither.
    package var amount: Int64?
    /// The streams it is about; absent if it is about none.
    package var streams: [String]?
    package var count = 0
    package var firstAt = ""
    package var lastAt = ""
    /// When it ended; absent while it lasts, or if it has no end.
    package var endedAt: String?
    /// Absent if it is not muted.
    package var muted: Mute?
    package var remedy = ""
    /// The section of Documentation/runbook.md about it, as an anchor.
    package var runbook = ""
    /// `raised` or `ended`, with the collector that reports it. Only in what a webhook receives.
    package var event: String?
    package var collector: String?

    package struct Mute: Codable, Equatable, Sendable {
        package var by = ""
        package var at = ""
        /// When it is over by itself; absent: never.
        package var until: String?

        package init() {}
    }

    package init() {}
}

/// A page of notices.
package struct NoticesView: Codable, Equatable, Sendable {
    package var items: [NoticeView] = []
    /// The `cursor` for the next page; `null` at the end.
    package var next: String?
    /// The number of all notices that last and are not muted.
    package var openCount = 0

    package init() {}

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(items, forKey: .items)
        // `null` says that this is the last page.
        try container.encode(next, forKey: .next)
        try container.encode(openCount, forKey: .openCount)
    }
}

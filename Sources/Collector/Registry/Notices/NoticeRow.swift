import WireModel

/// Something an administrator should know. If it happens again while it lasts, it is counted and not listed twice.
package struct NoticeRow: Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// Logs of an application have reached three quarters of their quota.
        case logQuotaHigh = "log-quota-75"
        /// Logs of an application have reached their quota, and further ones are refused.
        case logQuotaReached = "log-quota-100"
        /// An upload was not completed in time.
        case uploadExpired = "upload-expired"
        /// Logs that somebody requested are here. It ends by itself after a day.
        case logsArrived = "logs-arrived"
        /// Records of a device or an organization have reached three quarters of what they may store in a day.
        case recordQuotaHigh = "record-quota-75"
        /// Records of a device or an organization have reached what they may store in a day, and further ones wait.
        case recordQuotaReached = "record-quota-100"
        /// The disk is getting full.
        case diskLow = "disk-low"
        /// Retention removes no records until an administrator has checked the clock.
        case retentionWaiting = "retention-waiting"
        /// Records that exceed their limits, or those of deleted devices, cannot be removed.
        case retentionFailed = "retention-failed"
        /// Records that were acknowledged to a device are missing.
        case recordsLost = "records-lost"
        /// A device lost records because its queue was damaged.
        case queueDamaged = "queue-damaged"
        /// A device enrolled on the machine of another device that is still enrolled.
        case deviceReplaced = "device-replaced"
        /// A record file is missing or unreadable.
        case recordFile = "record-file"
        /// A damaged record file was replaced by its readable contents.
        case recordFileSalvaged = "record-file-salvaged"
        /// A device's history differs from the stored one: a clone, or a restored older image.
        case identityConflict = "identity-conflict"
        /// A certificate of the collector will end soon or has ended.
        case certificateExpiry = "certificate-expiry"
        /// The last administrator's token will end soon or has ended.
        case tokenExpiry = "token-expiry"
        /// The message broker has not been reachable for long.
        case brokerUnreachable = "broker-unreachable"
        /// An endpoint has taken no forwarded records for long.
        case forwardFailing = "forward-failing"
        /// A device has missed five beacons.
        case deviceSilent = "device-silent"
        /// The same for many devices, beyond those reported one by one.
        case devicesSilent = "devices-silent"
        /// Detectors on a device found signs of compromise.
        case deviceCompromised = "device-compromised"
        /// A device breaks compliance rules of its profile.
        case deviceNonCompliant = "device-non-compliant"

        /// A device can make it begin and end as often as it likes. Its end is delivered once it has lasted an hour,
        /// and a notice that is raised again before that goes on and is counted up.
        var mayAlternate: Bool { self == .deviceCompromised || self == .deviceNonCompliant }

        /// Whether what it reports can end.
        package var hasEnd: Bool {
            switch self {
            case .logQuotaHigh, .logQuotaReached, .logsArrived, .recordQuotaHigh, .recordQuotaReached, .diskLow,
                .retentionWaiting, .retentionFailed, .recordFile, .certificateExpiry, .tokenExpiry, .brokerUnreachable,
                .forwardFailing, .deviceSilent, .devicesSilent, .deviceCompromised, .deviceNonCompliant:
                true
            case .uploadExpired, .recordsLost, .queueDamaged, .deviceReplaced, .recordFileSalvaged, .identityConflict:
                false
            }
        }
    }

    package var id: Int64
    package var code: Code
    package var organization: String
    /// The application or device concerned.
    package var subject: String
    package var detail: String
    /// How many records it is about; for a conflict, how often it happened. 0 if it counts neither.
    package var amount: Int64 = 0
    /// The streams it is about; empty if it is about none.
    package var streams: Set<StreamName> = []
    /// How often it was raised.
    package var count: Int
    package var first: Int64
    package var last: Int64
    /// When it ended; `nil` while it lasts, or if it has no end.
    package var ended: Int64?
    /// `nil` if notices of its code and subject are not muted.
    package var muted: NoticeMute?

    /// It can end and has not.
    package var isOpen: Bool { code.hasEnd && ended == nil }
}

/// Somebody knows of what a notice reports, and does not want to hear of it.
///
/// All notices of one code, organization and subject are muted, those that are raised later, too. They stay in lists.
/// They do not count as open, and a webhook does not get them until the mute is over.
package struct NoticeMute: Equatable, Sendable {
    /// The person's name.
    package var by: String
    package var at: Int64
    /// When it is over by itself; `nil`: never.
    package var until: Int64?

    package init(by: String, at: Int64, until: Int64? = nil) {
        (self.by, self.at, self.until) = (by, at, until)
    }

    /// The most keys of one organization that may be muted at a time.
    package static let maximum = 1000
}

/// Selects notices.
package struct NoticeFilter: Equatable, Sendable {
    /// `nil` for all.
    package var code: NoticeRow.Code?
    /// Only those that can end and have not.
    package var isOpen = false
    /// `nil` for any.
    package var subject: String?

    package init(code: NoticeRow.Code? = nil, isOpen: Bool = false, subject: String? = nil) {
        (self.code, self.isOpen, self.subject) = (code, isOpen, subject)
    }
}

/// A delivery for a notice.
package struct NoticeNews: Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case raised
        /// The cause of the notice has ended.
        case ended
    }

    package var kind: Kind
    package var notice: NoticeRow

    package init(_ kind: Kind, _ notice: NoticeRow) {
        self.kind = kind
        self.notice = notice
    }
}

/// Counts of notices, for metrics.
package struct NoticeCounts: Equatable, Sendable {
    package struct Count: Equatable, Sendable {
        /// Listed notices.
        package var notices = 0
        /// Listed notices that can end and have not ended.
        package var lasting = 0
        /// How often they were raised in total.
        package var raised = 0
    }

    /// Contains every code, also those without notices.
    package private(set) var counts: [NoticeRow.Code: Count]

    package init(_ counts: [NoticeRow.Code: Count] = [:]) {
        self.counts = Dictionary(uniqueKeysWithValues: NoticeRow.Code.allCases.map { ($0, counts[$0] ?? Count()) })
    }

    package subscript(code: NoticeRow.Code) -> Count { counts[code] ?? Count() }
}

import WireModel

/// Something an administrator should know. The same thing again counts up; it is not listed twice while it lasts.
package struct NoticeRow: Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// Logs of an application have reached three quarters of their quota.
        case logQuotaHigh = "log-quota-75"
        /// Logs of an application are as many as they may be: further ones are refused.
        case logQuotaReached = "log-quota-100"
        /// An upload was not completed in time.
        case uploadExpired = "upload-expired"
        /// The disk is getting full.
        case diskLow = "disk-low"
        /// No records are removed until an administrator has looked at the clock.
        case retentionWaiting = "retention-waiting"
        /// Records that are over their limits cannot be removed.
        case retentionFailed = "retention-failed"
        /// Records a device was told are stored are not there.
        case recordsLost = "records-lost"
        /// A device lost records because its queue was damaged.
        case queueDamaged = "queue-damaged"
        /// A device was enrolled on the machine of another one that has not left.
        case deviceReplaced = "device-replaced"
        /// A file of records is missing, or cannot be read.
        case recordFile = "record-file"
        /// A damaged file of records was replaced by what could be read of it.
        case recordFileSalvaged = "record-file-salvaged"
        /// A device's history is not the one that is stored: a clone, or an older image brought back.
        case identityConflict = "identity-conflict"
        /// A certificate of the collector's own is about to end, or has ended.
        case certificateExpiry = "certificate-expiry"
        /// The last of the administrators' tokens is about to end, or has ended.
        case tokenExpiry = "token-expiry"
        /// A device's beacons have not come for five of the intervals that it keeps.
        case deviceSilent = "device-silent"
        /// The same of more devices than are told of one by one.
        case devicesSilent = "devices-silent"

        /// Whether what it tells of can be over.
        package var hasEnd: Bool {
            switch self {
            case .logQuotaHigh, .logQuotaReached, .diskLow, .retentionWaiting, .retentionFailed, .recordFile,
                .certificateExpiry,
                .tokenExpiry, .deviceSilent, .devicesSilent:
                true
            case .uploadExpired, .recordsLost, .queueDamaged, .deviceReplaced, .recordFileSalvaged, .identityConflict:
                false
            }
        }
    }

    package var id: Int64
    package var code: Code
    package var organization: String
    /// What it is about: an application, a device.
    package var subject: String
    package var detail: String
    /// How often it was raised.
    package var count: Int
    package var first: Int64
    package var last: Int64
    /// When it was over; `nil` while it lasts, or where there is no end to it.
    package var ended: Int64?

    package init(
        id: Int64, code: Code, organization: String, subject: String, detail: String, count: Int, first: Int64,
        last: Int64, ended: Int64? = nil
    ) {
        self.id = id
        self.code = code
        self.organization = organization
        self.subject = subject
        self.detail = detail
        self.count = count
        self.first = first
        self.last = last
        self.ended = ended
    }
}

package struct NoticePage: Equatable, Sendable {
    package var notices: [NoticeRow]
    /// The id below which the next page begins.
    package var next: Int64?
}

/// What there is to say of a notice to somebody who wants to hear of each.
package struct NoticeNews: Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case raised
        /// What it tells of is over.
        case ended
    }

    package var kind: Kind
    package var notice: NoticeRow

    package init(_ kind: Kind, _ notice: NoticeRow) {
        self.kind = kind
        self.notice = notice
    }
}

/// How many notices there are, for a page of metrics.
package struct NoticeCounts: Equatable, Sendable {
    package struct Count: Equatable, Sendable {
        /// Listed.
        package var notices = 0
        /// Of those, what lasts: what has an end and has not come to it.
        package var lasting = 0
        /// How often they were raised, together.
        package var raised = 0

        package init(notices: Int = 0, lasting: Int = 0, raised: Int = 0) {
            self.notices = notices
            self.lasting = lasting
            self.raised = raised
        }
    }

    /// Every code is there, also those of which there is none.
    package private(set) var counts: [NoticeRow.Code: Count]

    package init(_ counts: [NoticeRow.Code: Count] = [:]) {
        self.counts = Dictionary(uniqueKeysWithValues: NoticeRow.Code.allCases.map { ($0, counts[$0] ?? Count()) })
    }

    package subscript(code: NoticeRow.Code) -> Count { counts[code] ?? Count() }
}

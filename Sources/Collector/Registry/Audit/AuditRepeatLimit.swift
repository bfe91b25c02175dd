/// Limits how often the same is recorded in the audit trail: one entry per hour for each subject and action. Repeats
/// are counted and recorded with the next entry. Pure. In memory, because nobody but the administrator can restart a
/// collector.
///
/// One device makes at most 24 entries per day and action. A fleet that enrolls at once still gets an entry per device,
/// and the storm of one organization silences nothing of another.
struct AuditRepeatLimit<Subject: Hashable> {
    static var intervalMicroseconds: Int64 { 3_600_000_000 }
    /// The most remembered subjects and actions of an organization. If an hour has more, the rest get no entry.
    static var maximum: Int { 16_384 }

    private struct Key: Hashable {
        var subject: Subject
        var action: AuditEntry.Action
    }

    private struct Reported {
        var at: Int64
        var leftOut = 0

        /// A clock that was set back silences nobody for long.
        func isRecent(at now: Int64) -> Bool {
            (0..<AuditRepeatLimit.intervalMicroseconds).contains(now - at)
        }
    }

    private var reported: [String: [Key: Reported]] = [:]

    /// - Returns: how often the same was left out since the last entry; `nil` if this is left out too.
    mutating func admit(
        _ action: AuditEntry.Action, of subject: Subject, organization: String, at now: Int64
    ) -> Int? {
        Self.admit(Key(subject: subject, action: action), to: &reported[organization, default: [:]], at: now)
    }

    private static func admit(_ key: Key, to reported: inout [Key: Reported], at now: Int64) -> Int? {
        if let former = reported[key] {
            if former.isRecent(at: now) {
                reported[key]?.leftOut += 1
                return nil
            }
            reported[key] = Reported(at: now)
            return former.leftOut
        }
        if reported.count >= maximum { reported = reported.filter { $0.value.isRecent(at: now) } }
        guard reported.count < maximum else { return nil }
        reported[key] = Reported(at: now)
        return 0
    }
}

/// How much of its quota an application's logs take, and what there is to say of it. Pure.
struct LogUsage: Equatable, Sendable {
    /// Of all chunks that are kept.
    var rawBytes: Int
    let quota: Int

    /// In ten-thousandths, whole ones.
    var share: Int { quota > 0 ? Int((Double(rawBytes) / Double(quota) * 10_000).rounded(.down)) : 10_000 }

    var isHigh: Bool { share >= 7500 }
    var isReached: Bool { rawBytes >= quota }

    /// Notices that begin and that are over when the usage changes.
    static func change(from former: LogUsage, to present: LogUsage) -> (raised: [NoticeRow.Code], ended: [NoticeRow.Code]) {
        var change: (raised: [NoticeRow.Code], ended: [NoticeRow.Code]) = ([], [])
        if present.isHigh, !former.isHigh { change.raised.append(.logQuotaHigh) }
        if present.isReached, !former.isReached { change.raised.append(.logQuotaReached) }
        if !present.isHigh { change.ended.append(.logQuotaHigh) }
        // A refusal raises it below the limit, too: the next chunk did not fit. There is room again when there is less than before.
        if !present.isReached, present.rawBytes < former.rawBytes { change.ended.append(.logQuotaReached) }
        return change
    }
}

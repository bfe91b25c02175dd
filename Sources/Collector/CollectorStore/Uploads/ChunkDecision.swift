/// What to do with a chunk that arrives, by what is known of it and its upload. Pure.
package enum ChunkDecision: Equatable, Sendable {
    /// Look at its bytes, and keep it if they are what the manifest tells of.
    case take
    /// Its matter is settled: it is here, or was deleted since, or is gone. Nothing changes.
    case already
    case refuse(UploadError)

    /// - Parameters:
    ///   - fate: `nil` where the manifest has no such chunk.
    ///   - used: raw bytes that count against the application's quota.
    ///   - totalUsed: raw bytes that count against the organization's quota.
    package static func decide(
        phase: UploadPhase, expires: Int64, now: Int64, fate: ChunkFate?, rawBytes: Int, used: Int, quota: Int,
        totalUsed: Int = 0, totalQuota: Int = .max
    ) -> ChunkDecision {
        switch fate {
        case nil: .refuse(.unknownChunk)
        // What has an end keeps it, also after the upload's own.
        case .stored, .deleted, .gone: .already
        case .missing where phase != .open || expires <= now: .refuse(.expired)
        case .missing where rawBytes > quota - used: .refuse(.quotaExceeded(used: used, limit: quota))
        case .missing where rawBytes > totalQuota - totalUsed:
            .refuse(.organizationQuotaExceeded(used: totalUsed, limit: totalQuota))
        case .missing: .take
        }
    }
}

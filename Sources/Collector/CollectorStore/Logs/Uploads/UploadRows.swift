import FoundationEssentials
import WireModel

/// How far an upload is. The raw value is on disk.
package enum UploadPhase: Int, Sendable {
    case open = 1
    /// The device has said that it is complete, and nothing was missing.
    case complete = 2
    /// Not completed in time: what is missing is not taken any more, what has come stays.
    case expired = 3
}

/// What has become of a chunk. The raw value is on disk.
package enum ChunkFate: Int, Sendable {
    case missing = 1
    case stored = 2
    /// The device lost it before it was sent.
    case gone = 3
    /// People deleted it after it had come; it is not taken again.
    case deleted = 4
}

/// Where an upload stands on disk.
package struct UploadStanding: Equatable, Sendable {
    package var upload: UploadID
    package var phase: UploadPhase
    /// The collector's clock, microseconds since 1970, as are all times here.
    package var expires: Int64
    /// Ascending, as are all lists here.
    package var missing: [Int] = []
    package var deleted: [Int] = []
    package var gone: [GoneChunk] = []
    package var storedChunks = 0
    package var storedRawBytes = 0

    package struct GoneChunk: Equatable, Sendable {
        package var number: Int
        package var reason: DropReason

        package init(number: Int, reason: DropReason) {
            self.number = number
            self.reason = reason
        }
    }
}

/// An upload as people see it.
package struct UploadRow: Equatable, Sendable {
    package var upload: UploadID
    package var device: DeviceID
    package var application: String
    package var command: CommandID?
    package var phase: UploadPhase
    package var begun: Int64
    package var expires: Int64
    package var ended: Int64?
    package var chunks: Int
    package var storedChunks: Int
    package var goneChunks: Int
    package var deletedChunks: Int
    /// Of all chunks, and of those that have come.
    package var rawBytes: Int
    package var storedRawBytes: Int
}

package enum UploadError: Error, Equatable, Sendable {
    /// No such upload of this device.
    case unknownUpload
    /// The manifest has no chunk of this number.
    case unknownChunk
    /// The upload was begun with another manifest.
    case manifestDiffers
    /// It was not completed in time: what is missing is not taken any more.
    case expired
    /// The bytes are not those the manifest tells of; with what is wrong.
    case damaged(String)
    /// As many uploads of the device are open as may be.
    case tooMany(limit: Int)
    /// Raw bytes kept of the organization's logs of this application, and the most there may be.
    case quotaExceeded(used: Int, limit: Int)
    /// All applications of the organization together have as many bytes as they may.
    case organizationQuotaExceeded(used: Int, limit: Int)
    /// As many names of applications are in use as may be, of the device or of the organization.
    case tooManyApplications(ofDevice: Bool, limit: Int)
    case store(StoreError)
}

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

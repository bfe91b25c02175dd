import FoundationEssentials
import RecordStore
import Registry
import WireModel

/// An upload's state on disk.
package struct UploadStanding: Equatable, Sendable {
    package var upload: UploadID
    package var phase: UploadPhase
    /// The end by the collector's clock in microseconds since 1970, like all times here.
    package var expires: Int64
    /// Ascending, like all lists here.
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

/// An upload, as people see it.
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
    /// Bytes of text in all chunks and in the received ones.
    package var rawBytes: Int
    package var storedRawBytes: Int
}

/// The owner of the log text that a quota limits.
package enum LogQuotaOwner: Equatable, Sendable {
    /// An application of an organization.
    case application
    /// A device, all its applications together.
    case device
    /// An organization, all its applications together.
    case organization
}

package enum UploadError: StoreRefusal, Equatable, Sendable {
    /// The device has no such upload.
    case unknownUpload
    /// The manifest has no chunk of this number.
    case unknownChunk
    /// The upload was begun with another manifest.
    case manifestDiffers
    /// It was not completed in time. Missing chunks are not accepted any more.
    case expired
    /// The bytes do not match the manifest; says how.
    case damaged(String)
    /// The device has the most open uploads it may have.
    case tooMany(limit: Int)
    /// The bytes of log text that are stored of it, and the limit.
    case quotaExceeded(LogQuotaOwner, used: Int, limit: Int)
    /// The device or organization has the most application names it may have.
    case tooManyApplications(ofDevice: Bool, limit: Int)
    case store(StoreError)

    /// Whether it is certain that nothing was changed.
    var isRefusal: Bool { if case .store = self { false } else { true } }
}

/// Decides about a received chunk by what is known of it and its upload. Pure.
package enum ChunkDecision: Equatable, Sendable {
    /// Read its bytes, and store it if they match the manifest.
    case accept
    /// It is stored, deleted or gone. Nothing changes.
    case already
    case refuse(UploadError)

    /// - Parameters:
    ///   - fate: `nil` if the manifest has no such chunk.
    ///   - usage: what counts against each quota.
    static func decide(
        phase: UploadPhase, expires: Int64, now: Int64, fate: ChunkFate?, rawBytes: Int,
        usage: [(owner: LogQuotaOwner, usage: LogUsage)]
    ) -> ChunkDecision {
        switch fate {
        case nil: .refuse(.unknownChunk)
        // A chunk with a final state keeps it, even after the upload's end.
        case .stored, .deleted, .gone: .already
        case .missing where phase != .open || expires <= now: .refuse(.expired)
        case .missing:
            usage.first { rawBytes > $0.usage.quota - $0.usage.rawBytes }.map {
                .refuse(.quotaExceeded($0.owner, used: $0.usage.rawBytes, limit: $0.usage.quota))
            } ?? .accept
        }
    }
}

import FoundationEssentials
import WireModel

/// An upload of log chunks, from the request for it until the collector has everything or never will.
///
/// Its content is fixed when it begins. The manifest is announced unchanged each time, so announcing again changes
/// nothing, and a chunk has the same bytes each time it is made. The upload is kept on disk, so it continues after a
/// restart; the collector says which chunks it has.
package struct LogUpload: Codable, Equatable, Sendable {
    package enum Phase: String, Codable, Sendable {
        /// The collector does not know it yet, or no longer. -> `sending`, `completing`, `done`, `failed`.
        case announcing
        /// Chunks are being sent. -> `completing`, `announcing`.
        case sending
        /// All available chunks have arrived. -> `done`, `sending`, `announcing`.
        case completing
        /// The collector has everything.
        case done
        /// The upload cannot succeed; `detail` says why.
        case failed
        /// The requester cancelled it.
        case cancelled

        package var isFinal: Bool {
            switch self {
            case .announcing, .sending, .completing: false
            case .done, .failed, .cancelled: true
            }
        }
    }

    /// A chunk whose lines the device no longer has.
    package struct Gone: Codable, Equatable, Sendable {
        package var number: UInt32
        /// The raw value of a `DropReason`.
        package var reason: Int
    }

    /// 16 bytes, chosen by the device.
    package let id: Data
    /// A serialized `UploadManifest`.
    package let manifest: Data
    /// How to make the chunks again. Only the source understands it.
    package let plan: Data
    /// Crash logs go before all others.
    package let isCrash: Bool
    /// The command that requested it; `nil` if the device began it.
    package let command: Data?
    /// Microseconds of the queue clock.
    package let accepted: Int64
    package let chunkCount: Int
    /// Bytes of text in all chunks.
    package let rawBytes: UInt64
    package internal(set) var phase = Phase.announcing
    /// Chunks that the collector lacks, ascending. Valid while `sending`.
    package internal(set) var missing: [UInt32] = []
    package internal(set) var gone: [Gone] = []
    /// Why it failed or what it waits for, for people.
    package internal(set) var detail = ""

    /// - Parameter plan: describes to the source how to make the chunks again.
    package init(manifest: WireUploadManifest, plan: Data, accepted: Int64) {
        id = manifest.uploadID
        self.manifest = manifest.encoded
        self.plan = plan
        isCrash = manifest.type == .crash
        command = manifest.commandID.isEmpty ? nil : manifest.commandID
        self.accepted = accepted
        chunkCount = manifest.chunks.count
        rawBytes = manifest.chunks.reduce(0) { $0 + UInt64($1.rawBytes) }
    }

    /// The share of chunks that the collector has or never will have, in ten-thousandths.
    package var progress: UInt32 {
        switch phase {
        case .announcing, .failed, .cancelled: 0
        case .sending: chunkCount == 0 ? 0 : UInt32((chunkCount - min(missing.count, chunkCount)) * 10_000 / chunkCount)
        case .completing, .done: 10_000
        }
    }
}

/// Makes the chunks of an upload, with the same bytes each time.
package protocol UploadSource: Sendable {
    /// The content of one chunk of the manifest, or the reason why it is gone.
    ///
    /// - Throws: errors that may disappear later.
    func chunk(_ number: UInt32, of upload: LogUpload) async throws -> UploadContent
}

package enum UploadContent: Sendable {
    /// Complete gzip data.
    case compressed(Data)
    /// A limit removed its lines, or they are damaged.
    case gone(DropReason)
}

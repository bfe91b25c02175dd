import FoundationEssentials
import WireModel

/// An upload of log chunks, from the moment somebody asked for it until the collector has all of it, or never will.
///
/// What it consists of is fixed when it begins: the manifest is announced as it is, however often, so that beginning
/// again changes nothing and a chunk is the same bytes each time it is made. Kept on disk so that a restart goes on;
/// what the collector has already, it says itself.
package struct LogUpload: Codable, Equatable, Sendable {
    package enum Phase: String, Codable, Sendable {
        /// The collector does not know of it yet, or no longer: -> `sending`, `completing`, `done`, `failed`.
        case announcing
        /// Chunks are on their way: -> `completing`, `announcing`.
        case sending
        /// All that there is has arrived: -> `done`, `sending`, `announcing`.
        case completing
        /// The collector has it.
        case done
        /// It never will; `detail` says why.
        case failed
        /// Somebody who asked for it no longer wants it.
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
        /// `DropReason`'s number.
        package var reason: Int

        package init(number: UInt32, reason: Int) {
            self.number = number
            self.reason = reason
        }
    }

    /// 16 bytes, minted here.
    package let id: Data
    /// `UploadManifest`, serialized.
    package let manifest: Data
    /// How the chunks are made again; meant for the source alone.
    package let plan: Data
    /// Goes before all others.
    package let isCrash: Bool
    /// The command that asked for it; `nil`: the device began it.
    package let command: Data?
    /// Microseconds of the queue clock.
    package let accepted: Int64
    package let chunkCount: Int
    /// Text of all chunks.
    package let rawBytes: UInt64
    package internal(set) var phase = Phase.announcing
    /// Numbers the collector lacks, ascending; meaningful while `sending`.
    package internal(set) var missing: [UInt32] = []
    package internal(set) var gone: [Gone] = []
    /// Why it failed, or what it waits for, for people.
    package internal(set) var detail = ""

    /// - Parameter plan: how the source makes the chunks again.
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

    /// Ten-thousandths of the chunks that the collector has, or never will have.
    package var progress: UInt32 {
        switch phase {
        case .announcing, .failed, .cancelled: 0
        case .sending: chunkCount == 0 ? 0 : UInt32((chunkCount - min(missing.count, chunkCount)) * 10_000 / chunkCount)
        case .completing, .done: 10_000
        }
    }
}

/// Makes the chunks of an upload, each time the same bytes.
package protocol UploadSource: Sendable {
    /// Content of one chunk of the manifest, or that it is no more.
    ///
    /// - Throws: what may be otherwise later.
    func chunk(_ number: UInt32, of upload: LogUpload) async throws -> UploadContent
}

package enum UploadContent: Sendable {
    /// Gzip members, whole.
    case compressed(Data)
    /// Its lines fell to a cap, or are not what they were.
    case gone(DropReason)
}

import FoundationEssentials
import WireModel

/// A chunk that is kept, as people see it.
package struct ChunkRow: Equatable, Sendable {
    package var id: Int64
    package var upload: UploadID
    package var number: Int
    package var device: DeviceID
    package var organization: String
    package var application: String
    /// `nil`: lines of more than one.
    package var type: LogType?
    package var ring: Bool
    package var test: Bool
    package var command: CommandID?
    package var logEpoch: LogEpochID
    package var fileName: String
    package var rawBytes: Int
    /// SHA-256 of its text, as the device said and as it came.
    package var rawDigest: Data
    package var storedBytes: Int
    package var received: Int64
    /// Of all lines; `nil` where none is of the form of Schemas/logs/FORMAT.md.
    package var times: ClosedRange<Int64>?
    package var numbers: ClosedRange<UInt64>?
    /// Lines per level, most severe first.
    package var levels: [UInt64]
    /// Lines of another form.
    package var otherLines: UInt64
}

package struct ChunkPage: Equatable, Sendable {
    package var chunks: [ChunkRow]
    /// The id below which the next page begins.
    package var next: Int64?

    package init(chunks: [ChunkRow], next: Int64?) {
        self.chunks = chunks
        self.next = next
    }
}

/// How much an application's logs take of their quota.
package struct LogUsageRow: Equatable, Sendable {
    package var organization: String
    package var application: String
    package var test: Bool
    package var chunks: Int
    package var rawBytes: Int
    package var quotaBytes: Int
}

/// What a deletion would take.
package struct LogDeletion: Equatable, Sendable {
    package var chunks: Int
    package var devices: Int
    package var rawBytes: Int
    package var lines: UInt64
    /// Of the query and of what it takes: another one once that has changed.
    package var confirmation: String
}

import FoundationEssentials
import WireModel

/// Record files that an administrator wants gone, by name: what was shown and confirmed goes, and nothing else. Handed to a running
/// collector through `collector.sqlite`, since it holds the files.
struct PurgeRequest: Equatable, Codable {
    struct File: Equatable, Codable {
        var day: Int
        var stream: StreamName

        var partition: Partition { Partition(day: UTCDay(number: day), stream: stream) }
    }

    /// What came of it.
    struct Answer: Equatable, Codable {
        var id: UUID
        var removedFiles: Int
        var failure: String?
    }

    var id = UUID()
    /// Oldest first in each stream.
    var files: [File]
}

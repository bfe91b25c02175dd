import FoundationEssentials
import WireModel

/// Record files that an administrator wants gone, by name: what was shown and confirmed goes, and nothing else. Kept in `collector.sqlite`
/// until it is done, so that a running collector, which holds the files, can be asked, and one that is killed goes on at its next start.
struct PurgeRequest: Equatable, Codable {
    struct File: Equatable, Codable {
        var day: Int
        var stream: StreamName

        init(_ partition: Partition) {
            day = partition.day.number
            stream = partition.stream
        }

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
    /// Who asks.
    var actor: AuditActor

    /// As people are told it.
    var idText: String { id.uuidString.lowercased() }

    /// Of the whole collector: a day's file holds the records of all organizations.
    func auditEntry(_ outcome: AuditEntry.Outcome, _ detail: [String: String] = [:]) -> AuditEntry {
        var told = detail
        told["files"] = "\(files.count)"
        told["streams"] = Set(files.map(\.stream)).sorted().map { "\($0)" }.joined(separator: " ")
        let days = files.map(\.partition.day)
        told["oldest"] = days.min()?.description
        told["newest"] = days.max()?.description
        return AuditEntry(.recordsPurge, by: actor, organization: "", subject: idText, detail: told, outcome: outcome)
    }
}

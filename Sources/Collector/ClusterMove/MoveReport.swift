import ClusterRegistry

/// The work that a move has done, or would do.
package struct MoveReport: Encodable, Equatable, Sendable {
    package var registryRows = 0
    /// Record files, and their bytes on disk.
    package var files = 0
    package var fileBytes: Int64 = 0
    package var chains = 0
    package var slices = 0
    package var records: UInt64 = 0
    package var chunks = 0
    package var chunkBytes: Int64 = 0

    package init() {}
}

/// The news that a move reports to people while it runs.
package enum MoveNews: Equatable, Sendable {
    /// A step has ended, or something was found.
    case step(String)
    /// How far a long step is; reported every few seconds.
    case progress(String)
}

/// Where tests end a move.
enum MovePoint: Equatable, Sendable {
    case recorded
    case registryCopied
    case floorsTaken
    /// ClickHouse has a group of slices, and no mark has moved over it.
    case groupWritten
    case groupMoved
    case chainsSettled
    case chunksCarried
    case proved
    case marked
}

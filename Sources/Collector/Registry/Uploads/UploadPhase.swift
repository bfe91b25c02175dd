/// The state of an upload. The raw value is used on disk.
package enum UploadPhase: Int, Sendable {
    case open = 1
    /// The device reported completion, and nothing was missing.
    case complete = 2
    /// It was not completed in time. Missing chunks are not accepted any more; received ones stay.
    case expired = 3
}

/// The state of a chunk. The raw value is used on disk.
package enum ChunkFate: Int, Sendable {
    case missing = 1
    case stored = 2
    /// The device lost it before sending it.
    case gone = 3
    /// People deleted it after it was received. It is not accepted again.
    case deleted = 4
}

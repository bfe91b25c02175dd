import FoundationEssentials

/// A chunk file that a fetch has written whole.
struct WrittenChunk: Codable, Equatable, Sendable {
    /// In the plan, from 0.
    var position: Int
    var bytes: Int
    var sha256: Data
}

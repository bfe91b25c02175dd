import LogStore
import WireModel

/// `manifest.json` beside the chunk files: what they are, in order.
struct FetchManifest: Codable, Equatable, Sendable {
    struct Chunk: Codable, Equatable, Sendable {
        /// From 1.
        var order: Int
        var name: String
        /// Of the file.
        var bytes: Int
        /// Of the file.
        var sha256: String
        /// The level asked for: this and all that is more severe.
        var level: String
        var type: LogType
        /// Length of the text.
        var rawBytes: Int
        var lines: Int
        var firstLine: UInt64
        var lastLine: UInt64
        var from: String
        var to: String
    }

    /// A chunk that could not be fetched.
    struct Missing: Codable, Equatable, Sendable {
        var order: Int
        var firstLine: UInt64
        var lastLine: UInt64
        var reason: String
    }

    var version = 1
    var chunks: [Chunk]
    var missing: [Missing]
}

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

/// What a fetch of chunks says at its end.
struct FetchReport {
    var manifest: FetchManifest
    /// Files that an earlier attempt had written.
    var resumed: Int
    var folder: String
    var isCompressed: Bool

    func print(isJSON: Bool) throws(LogCommandError) {
        var output = StandardOutput()
        if isJSON { try output.json(manifest) } else { try output.line(text) }
        try output.flush()
    }

    private var text: String {
        let (bytes, raw) = manifest.chunks.reduce((0, 0)) { ($0.0 + $1.bytes, $0.1 + $1.rawBytes) }
        return
            "\(CountText.of(manifest.chunks.count, "chunk"))\(resumed == 0 ? "" : ", \(resumed) of them there already"), "
            + "\(ByteText.of(bytes))\(isCompressed ? " (\(ByteText.of(raw)) of text)" : "") in \(folder)"
    }
}

import CommandKit
import TelemetryBasics
import WireModel

/// `manifest.json`, which describes the chunk files in order.
struct FetchManifest: Codable, Equatable, Sendable {
    struct Chunk: Codable, Equatable, Sendable {
        /// The order, from 1.
        var order: Int
        var name: String
        /// Length of the file.
        var bytes: Int
        /// Digest of the file.
        var sha256: String
        /// The given level. The file has lines of this level and of more severe levels.
        var level: String
        var type: LogType
        /// Bundle id of the program that wrote the lines. Absent: the application that the device enrolled with.
        var application: String?
        /// Id of the device that sent them; only in a fetch from a collector.
        var device: String?
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

extension FetchManifest {
    /// Prints the result of a fetch.
    /// - Parameter resumed: files that an earlier attempt had written.
    func report(resumed: Int, in folder: ChunkFolder, isCompressed: Bool, isJSON: Bool) throws(CommandError) {
        if isJSON { return try Output.json(self) }
        let (bytes, raw) = chunks.reduce((0, 0)) { ($0.0 + $1.bytes, $0.1 + $1.rawBytes) }
        try Output.line(
            """
            \(CountText.of(chunks.count, "chunk"))\(resumed == 0 ? "" : ", \(resumed) of them there already"), \
            \(ByteText.of(bytes))\(isCompressed ? " (\(ByteText.of(raw)) of text)" : "") in \
            \(AbsolutePath.of(folder.path))
            """
        )
    }
}

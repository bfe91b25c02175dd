import Crypto
import Foundation
import Gzip
import TelemetryBasics
import WireModel

/// A device's log as tests write it: lines of the form that Schemas/logs/FORMAT.md gives, cut into chunks as a device
/// cuts them.
struct LogBook {
    struct Chunk {
        var text: Data
        /// Gzip members of whole lines.
        var gzip: Data
        var firstLine: UInt64
        var lastLine: UInt64
    }

    var epoch = LogEpochID.random()
    var application = ""
    private(set) var chunks: [Chunk] = []

    static func line(
        _ number: UInt64, _ level: LogLevel = .information, at time: Int64, category: String = "app", _ message: String
    )
        -> String
    {
        "\(Timestamp.text(time)) \(String(decoding: [level.letter], as: UTF8.self)) \(number) \(category) \(message)\n"
    }

    /// A chunk of these lines, a member for every so many.
    mutating func add(_ lines: [String], first: UInt64, last: UInt64, linesPerMember: Int = 100) throws {
        var gzip = Data()
        for start in stride(from: 0, to: lines.count, by: linesPerMember) {
            gzip += try GzipCodec.compress(Data(lines[start..<min(start + linesPerMember, lines.count)].joined().utf8))
        }
        chunks.append(Chunk(text: Data(lines.joined().utf8), gzip: gzip, firstLine: first, lastLine: last))
    }

    /// A chunk of `count` lines of one segment, a second apart, every tenth an error.
    mutating func add(segment: UInt64, positions: ClosedRange<UInt64>, from time: Int64, word: String = "line") throws {
        let lines = positions.map { position in
            Self.line(
                LogNumber(segment: segment, position: position).value,
                position.isMultiple(of: 10) ? .error : .information,
                at: time + Int64(position) * 1_000_000, "\(word) \(segment).\(position)")
        }
        try add(
            lines, first: LogNumber(segment: segment, position: positions.lowerBound).value,
            last: LogNumber(segment: segment, position: positions.upperBound).value)
    }

    func manifest(_ upload: UploadID, type: LogType = .application, command: Data = Data()) -> WireUploadManifest {
        var manifest = WireUploadManifest()
        manifest.uploadID = upload.data
        manifest.application = application
        manifest.type = type.wire
        manifest.commandID = command
        manifest.logEpoch = epoch.data
        manifest.chunks = chunks.enumerated().map { position, chunk in
            var wire = WireUploadChunk()
            wire.number = UInt32(position + 1)
            (wire.firstLine, wire.lastLine) = (chunk.firstLine, chunk.lastLine)
            wire.rawBytes = UInt32(chunk.text.count)
            wire.rawDigest = Data(SHA256.hash(data: chunk.text))
            wire.fileName = "kiosk-\(position + 1).log.gz"
            return wire
        }
        return manifest
    }
}

import Crypto
import FoundationEssentials
import Registry
import WireModel

/// A device's description of an upload, checked. Fixed when the upload begins.
package struct UploadManifest: Equatable, Sendable {
    package struct Chunk: Equatable, Sendable {
        /// The number; numbers are consecutive from 1.
        package var number: Int
        /// `nil` if it contains lines of several types.
        package var type: LogType?
        /// Whether the lines are from the verbose ring.
        package var ring: Bool
        /// 1 to 5,000,000.
        package var rawBytes: Int
        /// SHA-256 of the text, 32 bytes.
        package var rawDigest: Data
        package var fileName: String
    }

    package var upload: UploadID
    /// Bundle id; if empty, the one with which the device enrolled.
    package var application: String
    package var level: LogLevel?
    /// The request that it answers.
    package var command: CommandID?
    package var logEpoch: LogEpochID
    package var chunks: [Chunk]
    /// SHA-256 of the message in a canonical form.
    package var digest: Data

    package static let maximumChunks = 1000
    package static let textBytes = 255

    /// - Throws: `.invalidField` with the invalid field.
    package init(_ wire: WireUploadManifest) throws(WireError) {
        upload = try .required(wire.uploadID, "upload_id")
        logEpoch = try .required(wire.logEpoch, "log_epoch")
        command = wire.commandID.isEmpty ? nil : try .required(wire.commandID, "command_id")
        try Self.check(wire.application, "application")
        application = wire.application
        level = LogLevel(wire.level)
        guard wire.chunks.count <= Self.maximumChunks else {
            throw WireError(
                .invalidField,
                "chunks: \(wire.chunks.count) exceed the limit of \(Self.maximumChunks). Begin several uploads.")
        }
        chunks = []
        chunks.reserveCapacity(wire.chunks.count)
        for (position, chunk) in wire.chunks.enumerated() {
            chunks.append(try Chunk(chunk, place: position, type: LogType(wire.type)))
        }
        digest = Data(SHA256.hash(data: wire.encoded))
    }

    package var rawBytes: Int { chunks.reduce(0) { $0 + $1.rawBytes } }

    /// Checks a text that people will see: it must not be too long or contain terminal control characters.
    static func check(_ text: String, _ field: String) throws(WireError) {
        guard text.utf8.count <= textBytes, !text.hasControlCharacters else {
            throw WireError(.invalidField, "\(field) has more than \(textBytes) bytes, or control characters.")
        }
    }
}

extension UploadManifest.Chunk {
    init(_ wire: WireUploadChunk, place: Int, type manifestType: LogType?) throws(WireError) {
        let name = "chunks[\(place)]"
        guard wire.number == place + 1 else {
            throw WireError(
                .invalidField,
                "\(name).number is \(wire.number); expected \(place + 1): chunks are numbered 1, 2, 3 ...")
        }
        guard (1...UInt32(LogLimits.chunkBytes)).contains(wire.rawBytes) else {
            throw WireError(
                .invalidField, "\(name).raw_bytes is \(wire.rawBytes); expected 1 to \(LogLimits.chunkBytes).")
        }
        guard wire.rawDigest.count == 32 else {
            throw WireError(
                .invalidField, "\(name).raw_digest has \(wire.rawDigest.count) bytes; expected 32 (SHA-256).")
        }
        guard wire.firstLine <= wire.lastLine, wire.lastLine <= UInt64(Int64.max) else {
            throw WireError(.invalidField, "\(name).first_line is above last_line, or out of range.")
        }
        try UploadManifest.check(wire.fileName, "\(name).file_name")
        guard !wire.fileName.utf8.contains(UInt8(ascii: "/")), wire.fileName != ".", wire.fileName != ".." else {
            throw WireError(.invalidField, "\(name).file_name is a path; expected the name of a file.")
        }
        number = place + 1
        type = LogType(wire.type) ?? manifestType
        ring = wire.ring
        rawBytes = Int(wire.rawBytes)
        rawDigest = wire.rawDigest
        fileName = wire.fileName
    }
}

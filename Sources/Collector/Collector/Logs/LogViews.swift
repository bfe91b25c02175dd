import CollectorStore
import FoundationEssentials
import TelemetryBasics
import WireModel

/// A chunk as people see it.
struct ChunkView: Encodable {
    var id: String
    var device: String
    var organization: String
    var application: String?
    /// Absent where it holds lines of more than one.
    var type: String?
    var ring: Bool?
    var test: Bool?
    var upload: String
    var number: Int
    var command: String?
    var logEpoch: String
    var fileName: String?
    var rawBytes: Int
    var storedBytes: Int
    var receivedAt: String
    var firstTime: String?
    var lastTime: String?
    var firstLine: UInt64?
    var lastLine: UInt64?
    var levels: Levels
    /// Lines of no such form as logs have.
    var otherLines: UInt64?
    /// Of its text, as the device said and as it came.
    var sha256: String

    struct Levels: Encodable {
        var error: UInt64
        var warning: UInt64
        var information: UInt64
        var verbose: UInt64
    }

    init(_ row: ChunkRow) {
        id = String(row.id)
        device = row.device.description
        organization = row.organization
        application = row.application.isEmpty ? nil : row.application
        type = row.type?.rawValue
        ring = row.ring ? true : nil
        test = row.test ? true : nil
        upload = row.upload.description
        number = row.number
        command = row.command?.description
        logEpoch = row.logEpoch.description
        fileName = row.fileName.isEmpty ? nil : row.fileName
        rawBytes = row.rawBytes
        storedBytes = row.storedBytes
        receivedAt = Timestamp.text(row.received)
        firstTime = row.times.map { Timestamp.text($0.lowerBound) }
        lastTime = row.times.map { Timestamp.text($0.upperBound) }
        firstLine = row.numbers?.lowerBound
        lastLine = row.numbers?.upperBound
        levels = Levels(
            error: row.levels[0], warning: row.levels[1], information: row.levels[2], verbose: row.levels[3])
        otherLines = row.otherLines > 0 ? row.otherLines : nil
        sha256 = row.rawDigest.hexadecimal
    }
}

/// An upload: chunks = stored + missing + gone + deleted.
struct UploadView: Encodable {
    var upload: String
    var application: String?
    var command: String?
    var state: String
    var begunAt: String
    var expiresAt: String
    var endedAt: String?
    var chunks: Int
    var storedChunks: Int
    var missingChunks: Int
    var goneChunks: Int
    var deletedChunks: Int
    var rawBytes: Int
    var storedRawBytes: Int

    init(_ row: UploadRow) {
        upload = row.upload.description
        application = row.application.isEmpty ? nil : row.application
        command = row.command?.description
        state = "\(row.phase)"
        begunAt = Timestamp.text(row.begun)
        expiresAt = Timestamp.text(row.expires)
        endedAt = row.ended.map(Timestamp.text)
        chunks = row.chunks
        storedChunks = row.storedChunks
        missingChunks = row.chunks - row.storedChunks - row.goneChunks - row.deletedChunks
        goneChunks = row.goneChunks
        deletedChunks = row.deletedChunks
        rawBytes = row.rawBytes
        storedRawBytes = row.storedRawBytes
    }
}

struct LogUsageView: Encodable {
    var organization: String
    var application: String?
    var test: Bool?
    var chunks: Int
    var rawBytes: Int
    var quotaBytes: Int

    init(_ row: LogUsageRow) {
        organization = row.organization
        application = row.application.isEmpty ? nil : row.application
        test = row.test ? true : nil
        chunks = row.chunks
        rawBytes = row.rawBytes
        quotaBytes = row.quotaBytes
    }
}

/// What a deletion took, or would take.
struct LogDeletionView: Encodable {
    var deleted: Bool
    var chunks: Int
    var devices: Int
    var lines: UInt64
    var rawBytes: Int
    /// To be sent as `confirm`; only where nothing is deleted yet.
    var confirm: String?

    init(_ deletion: LogDeletion, isDone: Bool) {
        deleted = isDone
        chunks = deletion.chunks
        devices = deletion.devices
        lines = deletion.lines
        rawBytes = deletion.rawBytes
        confirm = isDone ? nil : deletion.confirmation
    }
}

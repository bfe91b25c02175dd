import WireModel

/// A chunk of a device's log.
package struct ChunkView: Codable, Equatable, Sendable {
    package var id = ""
    package var device = ""
    /// Absent if the device has no name, or was deleted.
    package var deviceName: String?
    package var organization = ""
    package var application: String?
    /// Absent if it contains lines of several types.
    package var type: LogType?
    package var ring: Bool?
    package var test: Bool?
    package var upload = ""
    package var number = 0
    package var command: String?
    package var logEpoch = ""
    package var fileName: String?
    package var rawBytes = 0
    package var storedBytes = 0
    package var receivedAt = ""
    package var firstTime: String?
    package var lastTime: String?
    package var firstLine: UInt64?
    package var lastLine: UInt64?
    package var levels = Levels()
    /// Malformed lines.
    package var otherLines: UInt64?
    /// The digest of its text, as the device said and the collector checked.
    package var sha256: String?

    package struct Levels: Codable, Equatable, Sendable {
        package var error: UInt64 = 0
        package var warning: UInt64 = 0
        package var information: UInt64 = 0
        package var verbose: UInt64 = 0

        package init() {}

        /// Most severe first.
        package var list: [UInt64] { [error, warning, information, verbose] }
    }

    package init() {}
}

/// An upload: chunks = stored + missing + gone + deleted.
package struct UploadView: Codable, Equatable, Sendable {
    package var upload = ""
    package var application: String?
    package var command: String?
    package var state = ""
    package var startedAt = ""
    package var expiresAt = ""
    package var endedAt: String?
    package var chunks = 0
    package var storedChunks = 0
    package var missingChunks = 0
    package var goneChunks = 0
    package var deletedChunks = 0
    package var rawBytes = 0
    package var storedRawBytes = 0

    package init() {}
}

/// The chunks that a deletion removed, or would remove.
package struct LogDeletionView: Codable, Equatable, Sendable {
    package var deleted = false
    package var chunks = 0
    package var devices = 0
    package var lines: UInt64 = 0
    package var rawBytes = 0
    /// The value to send as `confirm`. Only while nothing is deleted.
    package var confirm: String?

    package init() {}
}

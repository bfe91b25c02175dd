import WireModel

typealias RequestID = Identifier<RemoteCommand>

/// A command of a device as a collector tells of it: a request for logs, or what cancels one.
struct RemoteCommand: Codable, Equatable, Sendable {
    struct Upload: Codable, Equatable, Sendable {
        var upload: String
        var state: String
        var chunks: Int
        var storedChunks: Int
        var goneChunks: Int
        var rawBytes: Int
        var storedRawBytes: Int
    }

    var id: String
    var kind: String
    var issuedAt: String
    var issuedBy: String
    var expiresAt: String
    /// queued, received, running, done, failed, not-now, expired, unsupported; others may come.
    var state: String
    /// 0 to 1.
    var progress: Double
    var detail: String?
    var updatedAt: String?
    var uploads: [Upload]?

    /// Whether the device does not know of it yet.
    var isQueued: Bool { state == "queued" }
}

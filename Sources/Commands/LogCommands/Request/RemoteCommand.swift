import FoundationEssentials
import LogStore
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

/// What a collector is asked to tell a device. Only what it takes: see CommandDocument there.
struct NewRequest: Encodable, Equatable {
    struct Arguments: Encodable, Equatable {
        var mode: String?
        var type: String?
        var level: String?
        var since: String?
        var until: String?
        var captureSeconds: Int?
        var maximumBytes: Int?
        var categories: [String]?
        var text: String?
        var includeVerboseRing: Bool?
        /// The request that is to end.
        var command: String?
    }

    var kind: String
    var arguments: Arguments
    var expiresInSeconds: Int64?

    static func cancel(_ id: String) -> NewRequest { NewRequest(kind: "cancel", arguments: Arguments(command: id)) }
}

/// What the state of a request means to who waits for it. Pure.
struct RequestStanding: Equatable {
    enum Meaning: Equatable {
        /// Something may still come.
        case pending
        case done
        /// Nothing will come any more, for this reason.
        case failed(String)
    }

    let meaning: Meaning
    /// 0 to 1.
    let progress: Double
    /// A line for a person.
    let text: String

    init(_ command: RemoteCommand) {
        let detail = command.detail.map { ": \(LogCommandError.shown($0))" } ?? ""
        let state = LogCommandError.shown(command.state)
        switch command.state {
        case "done": meaning = .done
        case "failed", "expired", "unsupported": meaning = .failed("\(state)\(detail)")
        default: meaning = .pending
        }
        let uploads = command.uploads ?? []
        let chunks = uploads.reduce(0) { $0 + $1.chunks }
        let stored = uploads.reduce(0) { $0 + $1.storedChunks }
        // A device that sends says so late; what has come is known here.
        progress = chunks > 0 ? max(command.progress, Double(stored) / Double(chunks)) : command.progress
        let bytes = uploads.reduce(0) { $0 + $1.storedRawBytes }
        text =
            state + (chunks > 0 ? ", \(stored) of \(chunks) chunks here, \(ByteText.of(bytes)) of text" : "") + detail
    }

    /// How long until it is looked at again, in seconds: soon at first, then every few seconds.
    /// - Parameter looks: how often it was looked at.
    static func pauseSeconds(after looks: Int) -> Int64 { looks < 10 ? 1 : looks < 60 ? 2 : 5 }
}

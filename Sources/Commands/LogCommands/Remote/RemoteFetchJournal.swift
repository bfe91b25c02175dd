import FoundationEssentials
import WireModel

/// What a fetch from a collector keeps of itself, so that it can go on.
typealias RemoteFetchJournal = FetchJournal<RemoteFetchHead, RemoteFetchEntry>

/// What is to be fetched.
struct RemoteFetchHead: Codable, Equatable, Sendable {
    /// As it was asked for: an interrupted fetch goes on only for the same.
    struct Request: Codable, Equatable, Sendable {
        var collector: String
        var device: String
        /// Of what this request brought; `nil`: of all.
        var command: String?
        var isCompressed: Bool
        var application: String?
        var deviceName: String?
        var type: String
        var level: LogLevel
        var since: TimeArgument?
        var until: TimeArgument?
        var categories: [String]
        var text: String
    }

    var request: Request
    /// With times as they were when it began.
    var filter: LogFilter
    var sections: [RemoteSection]
}

/// Something that a fetch has come to.
enum RemoteFetchEntry: Codable, Equatable, Sendable {
    /// A chunk file is whole.
    case wrote(RemoteFetchChunk)
    /// Lines that could not be had.
    case missed(FetchManifest.Missing, section: Int)
    /// Nothing more is to be read: the files get their names.
    case readAll
}

/// Where a fetch stands: so many bytes of a section's text are in whole files.
struct RemoteFetchPosition: Codable, Equatable, Sendable {
    var section = 0
    var offset = 0
    /// Number of the line before; 0 where there is none in this section, or it has none.
    var line: UInt64 = 0
}

/// A chunk file as it was written.
struct RemoteFetchChunk: Codable, Equatable, Sendable {
    /// From 1.
    var order: Int
    var application: String
    var type: LogType
    var bytes: Int
    var sha256: Data
    var rawBytes: Int
    var lines: Int
    var firstLine: UInt64
    var lastLine: UInt64
    var earliest: Int64
    var latest: Int64
    /// What comes after it.
    var end: RemoteFetchPosition
}

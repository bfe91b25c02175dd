import CollectorClient
import CommandKit
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// `manifest.json.partial`: lets an interrupted fetch resume. One JSON value per line: first the plan, then one entry
/// per result. Append-only; a last line without a newline is torn and ignored.
final class FetchJournal<Head: Codable & Sendable, Entry: Codable & Sendable>: Sendable {
    /// The first line.
    let head: Head
    /// The lines of earlier attempts.
    let entries: [Entry]
    private let file: OpenFile<LogStoreError>

    /// Begins a new journal.
    /// - Parameter entries: entries to keep from an earlier journal of the same fetch.
    init(_ head: Head, entries: [Entry] = [], at path: String) throws {
        self.head = head
        self.entries = entries
        file = try OpenFile<LogStoreError>(replacing: path)
        try Self.write(head, to: file)
        for entry in entries { try append(entry) }
    }

    /// Reads a journal; `nil` if there is none, or its head is incomplete.
    static func read(_ path: String) throws -> (head: Head, entries: [Entry])? {
        guard access(path, F_OK) == 0 else { return nil }
        let lines = try OpenFile<LogStoreError>(reading: path).readWhole(maximumBytes: 64 << 20).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let decoder = JSONDecoder()
        guard let first = lines.dropLast().first, let head = try? decoder.decode(Head.self, from: first) else {
            return nil
        }
        return (head, lines.dropLast().dropFirst().compactMap { try? decoder.decode(Entry.self, from: $0) })
    }

    func append(_ entry: Entry) throws { try Self.write(entry, to: file) }

    private static func write(_ value: some Encodable, to file: borrowing OpenFile<LogStoreError>) throws {
        try file.write([UInt8](try JSONEncoder().encode(value)) + [UInt8(ascii: "\n")])
    }
}

/// The journal of a fetch from a collector.
typealias RemoteFetchJournal = FetchJournal<RemoteFetchHead, RemoteFetchEntry>

/// All that is to be fetched.
struct RemoteFetchHead: Codable, Equatable, Sendable {
    /// The arguments. An interrupted fetch is resumed only with the same arguments.
    struct Request: Codable, Equatable, Sendable {
        var collector: String
        var scope: Scope
        /// The log request whose chunks alone are meant; `nil`: all chunks.
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

    /// The scope of the logs.
    struct Scope: Codable, Equatable, Sendable {
        var device: String?
        var application: String?
        var ids: [String]

        init(_ scope: LogScope) {
            device = scope.device.map { "\($0)" }
            application = scope.application
            ids = scope.ids
        }
    }

    var request: Request
    /// Relative times are resolved against the start of the first attempt.
    var filter: LogFilter
    var sections: [RemoteSection]
}

/// One result of a fetch.
enum RemoteFetchEntry: Codable, Equatable, Sendable {
    /// A chunk file is whole.
    case wrote(RemoteFetchChunk)
    /// Lines that could not be fetched.
    case missed(FetchManifest.Missing, section: Int)
    /// All sections are read; the files get their final names next.
    case readAll
}

/// How far a fetch is: the first `offset` bytes of the section's text are in complete files.
struct RemoteFetchPosition: Codable, Equatable, Sendable {
    var section = 0
    var offset = 0
    /// Number of the line before the offset; 0 at the section's start, or if that line has no number.
    var line: UInt64 = 0
}

/// A chunk file as it was written.
struct RemoteFetchChunk: Codable, Equatable, Sendable {
    /// The order, from 1.
    var order: Int
    var device: String
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
    /// The position after it.
    var end: RemoteFetchPosition
}

import FoundationEssentials
import Glibc
import LogStore

/// `manifest.json.partial`: what a fetch is about to write, then each chunk it has written, one JSON value to a line; so that the fetch can go on
/// after an interruption. Appended only; a last line without its end was never written.
struct FetchJournal: ~Copyable {
    /// The first line.
    struct Head: Codable, Equatable {
        var request: FetchRequest
        var plan: ChunkPlan
        var names: [String]
    }

    /// Each further line.
    struct Done: Codable, Equatable {
        var position: Int
        var bytes: Int
        var sha256: Data
    }

    private static let maximumBytes = 64 << 20

    let head: Head
    private(set) var done: [Int: Done] = [:]
    private let file: StoreFile

    /// Begins a new one.
    init(_ head: Head, at path: String) throws {
        self.head = head
        file = try StoreFile(replacing: path)
        try append(head)
    }

    /// Goes on with one that is there; `nil` where there is none, or its head was never written whole.
    init?(resuming path: String) throws {
        guard access(path, F_OK) == 0 else { return nil }
        let lines = try StoreFile(reading: path).readWhole(maximumBytes: Self.maximumBytes).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let decoder = JSONDecoder()
        guard let first = lines.dropLast().first, let head = try? decoder.decode(Head.self, from: first) else { return nil }
        var done: [Int: Done] = [:]
        for line in lines.dropLast().dropFirst() {
            if let entry = try? decoder.decode(Done.self, from: line) { done[entry.position] = entry }
        }
        // Written anew without what was torn.
        try self.init(head, at: path)
        for entry in done.values { try append(entry) }
        self.done = done
    }

    func append(_ value: some Encodable) throws { try file.write([UInt8](try JSONEncoder().encode(value)) + [UInt8(ascii: "\n")]) }
}

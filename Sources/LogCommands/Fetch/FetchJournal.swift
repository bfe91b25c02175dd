import FoundationEssentials
import Glibc
import LogStore

/// `manifest.json.partial`: what a fetch is about to write, then each chunk it has written, one JSON value to a line; so that the fetch can go on
/// after an interruption. Appended only; a last line without its end was never written.
final class FetchJournal: Sendable {
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
    /// Written by earlier attempts.
    let done: [Int: Done]
    private let file: StoreFile

    /// Begins a new one.
    /// - Parameter done: of an earlier one, for the same.
    init(_ head: Head, done: [Int: Done] = [:], at path: String) throws {
        self.head = head
        self.done = done
        file = try StoreFile(replacing: path)
        try append(head)
        for entry in done.values { try append(entry) }
    }

    /// Goes on with one that is there; `nil` where there is none, or its head was never written whole.
    static func resuming(_ path: String) throws -> FetchJournal? {
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
        return try FetchJournal(head, done: done, at: path)
    }

    func append(_ value: some Encodable) throws { try file.write([UInt8](try JSONEncoder().encode(value)) + [UInt8(ascii: "\n")]) }
}

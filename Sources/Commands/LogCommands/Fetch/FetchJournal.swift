import FoundationEssentials
import Glibc
import LogStore

/// `manifest.json.partial`: what a fetch is about to write, then what it has come to, one JSON value to a line; so that the fetch can go on
/// after an interruption. Appended only; a last line without its end was never written.
final class FetchJournal<Head: Codable & Sendable, Entry: Codable & Sendable>: Sendable {
    /// The first line.
    let head: Head
    /// The lines of earlier attempts.
    let entries: [Entry]
    private let file: StoreFile

    /// Begins a new one.
    /// - Parameter entries: of an earlier one, for the same.
    init(_ head: Head, entries: [Entry] = [], at path: String) throws {
        self.head = head
        self.entries = entries
        file = try StoreFile(replacing: path)
        try Self.write(head, to: file)
        for entry in entries { try append(entry) }
    }

    /// What is there; `nil` where there is none, or its head was never written whole.
    static func read(_ path: String) throws -> (head: Head, entries: [Entry])? {
        guard access(path, F_OK) == 0 else { return nil }
        let lines = try StoreFile(reading: path).readWhole(maximumBytes: 64 << 20).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let decoder = JSONDecoder()
        guard let first = lines.dropLast().first, let head = try? decoder.decode(Head.self, from: first) else { return nil }
        return (head, lines.dropLast().dropFirst().compactMap { try? decoder.decode(Entry.self, from: $0) })
    }

    func append(_ entry: Entry) throws { try Self.write(entry, to: file) }

    private static func write(_ value: some Encodable, to file: borrowing StoreFile) throws {
        try file.write([UInt8](try JSONEncoder().encode(value)) + [UInt8(ascii: "\n")])
    }
}

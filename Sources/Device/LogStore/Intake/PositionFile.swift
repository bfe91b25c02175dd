import Encryption
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// The form of `<application>.positions`: how far a source was read, and how much of its segments counts.
/// `Schemas/logs/FORMAT.md` defines it; only this file knows its bytes.
enum PositionFile {
    private static let suffix = ".positions"
    static let version = 1
    /// A file that is longer is not ours. Whole positions of 100,000 files are a quarter of it.
    static let maximumBytes = 128 << 20
    /// Bytes at the end in which the last commit is looked for first.
    private static let tailBytes = 64 << 10
    private static let title = "ws1log-positions "

    static func name(of application: String) -> String { SegmentName.component(application) + suffix }

    /// Ends the name of a file that is to take the place of the present one. Not that of other unfinished files, which
    /// whoever has the store's `lock` removes.
    static let newSuffix = ".new"

    static func isName(_ file: String) -> Bool { file.hasSuffix(suffix) }

    /// Whether positions are in a file, be it one that was not finished.
    static func holdsPositions(_ file: String) -> Bool { isName(file) || file.hasSuffix(suffix + newSuffix) }

    /// The first two lines. Whoever removes segments needs them, without a key.
    struct Head: Equatable {
        var application: String
        /// Bytes on disk that the segments of the application may take.
        var maximumBytes: Int
        /// Microseconds.
        var maximumAge: Int64

        var text: String {
            "\(PositionFile.title)\(PositionFile.version)\n"
                + "limits bytes \(maximumBytes) age \(maximumAge) application \(SegmentName.component(application))\n"
        }

        init(application: String, maximumBytes: Int, maximumAge: Int64) {
            self.application = application
            self.maximumBytes = maximumBytes
            self.maximumAge = maximumAge
        }

        /// - Throws: `.damaged`, `.newer`; `.notFound` if there is no such file.
        init(reading path: String) throws(LogStoreError) {
            let start = try OpenFile<LogStoreError>(reading: path).read(4096, at: 0)
            try self.init(start[...], path: path)
        }

        fileprivate init(_ bytes: ArraySlice<UInt8>, path: String) throws(LogStoreError) {
            let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
            let words = lines.prefix(2).map { String(decoding: $0, as: UTF8.self).split(separator: " ") }
            guard words.count == 2, words[0].count == 2, "\(words[0][0]) " == PositionFile.title,
                let version = Int(words[0][1])
            else { throw PositionFile.damaged(path, "it does not begin as positions do") }
            guard version <= PositionFile.version else {
                throw LogStoreError(
                    .newer,
                    "\(path) has version \(version), this program knows up to \(PositionFile.version). Use a newer one."
                )
            }
            guard lines.count == 3, words[1].count == 7, words[1][0] == "limits", let bytes = Int(words[1][2]),
                let age = Int64(words[1][4]), bytes >= 0, age >= 0,
                let application = SegmentName.application(words[1][6])
            else { throw PositionFile.damaged(path, "its second line does not name the limits") }
            self.init(application: application, maximumBytes: bytes, maximumAge: age)
        }
    }

    /// One commit: the lines before a place in a segment, and the position in the source that belongs to them.
    struct Commit: Equatable {
        /// From 1, without a hole.
        var number: UInt64
        /// The segment in which the last committed line is. 0: no line was committed yet.
        var ordinal: UInt64
        /// Bytes of that segment's file that count.
        var fileBytes: Int
        /// The changes are the whole position; what was before is void.
        var isWhole: Bool
        /// ``PositionChanges``, plain or in an envelope.
        var changes: Data

        var line: String {
            let text =
                "commit \(number) \(ordinal) \(fileBytes) \(isWhole ? "whole" : "more") "
                + changes.base64EncodedString()
            return "\(text) \(StoreState.sum(text))\n"
        }

        /// - Parameter line: without its newline. `nil` if it is not what was written.
        init?(_ line: ArraySlice<UInt8>) {
            let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard words.count == 7, words[0].elementsEqual("commit".utf8) else { return nil }
            let text = String(decoding: line[..<(words[6].startIndex - 1)], as: UTF8.self)
            guard words[6].elementsEqual(StoreState.sum(text).utf8),
                let number = UInt64(String(decoding: words[1], as: UTF8.self)),
                let ordinal = UInt64(String(decoding: words[2], as: UTF8.self)), ordinal < SegmentName.greatestOrdinal,
                let fileBytes = Int(String(decoding: words[3], as: UTF8.self)), fileBytes >= 0,
                let changes = Data(base64Encoded: Data(words[5]))
            else { return nil }
            self.init(
                number: number, ordinal: ordinal, fileBytes: fileBytes, isWhole: words[4].elementsEqual("whole".utf8),
                changes: changes)
        }

        init(number: UInt64, ordinal: UInt64, fileBytes: Int, isWhole: Bool, changes: Data) {
            self.number = number
            self.ordinal = ordinal
            self.fileBytes = fileBytes
            self.isWhole = isWhole
            self.changes = changes
        }
    }

    /// All commits in order. A last line that a crash tore is left out.
    /// - Throws: `.damaged` if a line before the last one is not what was written.
    static func read(_ path: String) throws(LogStoreError) -> (head: Head, commits: [Commit])? {
        let bytes: [UInt8]
        do { bytes = [UInt8](try OpenFile<LogStoreError>(reading: path).readWhole(maximumBytes: maximumBytes)) } catch {
            if error.code == .notFound { return nil }
            throw error
        }
        let head = try Head(bytes[...], path: path)
        var commits: [Commit] = []
        let lines = bytes.dropFirst(head.text.utf8.count).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // What follows the last newline is empty, or torn.
        for (index, line) in lines.dropLast().enumerated() {
            guard let commit = Commit(line), commit.number == commits.last.map({ $0.number + 1 }) ?? commit.number,
                !commits.isEmpty || commit.isWhole
            else {
                // A machine that loses power may have the end of a file without its beginning.
                if index == lines.count - 2 { break }
                throw damaged(path, "line \(index + 3) is not what was written")
            }
            commits.append(commit)
        }
        // The first one was renamed into its place whole, so no crash has torn it.
        guard !commits.isEmpty else { throw damaged(path, "it has no whole commit") }
        return (head, commits)
    }

    /// The last commit. Needs no key and holds no lock.
    /// - Throws: `.damaged` if there is none, because a crash leaves at least the one that was renamed into its place.
    static func lastCommit(_ path: String) throws(LogStoreError) -> Commit {
        let file = try OpenFile<LogStoreError>(reading: path)
        let size = try file.byteCount()
        for wanted in Set([min(size, tailBytes), min(size, maximumBytes)]).sorted() {
            let bytes = try file.read(wanted, at: size - wanted)
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for line in lines.dropLast().reversed() {
                if let commit = Commit(line) { return commit }
            }
        }
        throw damaged(path, "it has no whole commit")
    }

    /// Ids of the keys that positions name. Needs no key.
    static func keyIDs(in path: String) throws(LogStoreError) -> Set<UInt32> {
        var ids: Set<UInt32> = []
        for commit in try read(path)?.commits ?? [] where Envelope.isEnvelope(commit.changes) {
            do throws(EncryptionError) { ids.insert(try Envelope.keyID(of: commit.changes, purpose: .logs)) } catch {
                throw LogStoreError(error, path)
            }
        }
        return ids
    }

    static func damaged(_ path: String, _ what: String) -> LogStoreError {
        LogStoreError(
            .damaged,
            "\(path) is damaged: \(what). Restore it from a copy, or remove it: the source is then read as at its "
                + "first start, and lines may come twice.")
    }
}

extension StoreDirectory {
    /// Bytes of a text's file that were committed with their position; what is behind them does not count and may be
    /// cut. `nil`: all count, because the segment is not an intake's or nothing is known of it.
    ///
    /// Lines of former segments are committed: a segment begins only behind them.
    func committedBytes(of name: SegmentName) throws(LogStoreError) -> Int? {
        guard name.kind == .intake else { return nil }
        do {
            let commit = try PositionFile.lastCommit(path(PositionFile.name(of: name.application)))
            if name.ordinal < commit.ordinal { return nil }
            return name.ordinal == commit.ordinal ? commit.fileBytes : 0
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }
}

/// Positions of a source that changed, by their key; `nil` removes one. The source alone knows what they mean.
package typealias PositionChanges = [String: [UInt8]?]

extension PositionChanges {
    /// Length and bytes of each key and value, little-endian; the length of a removed value is `UInt32.max`.
    var encoded: Data {
        var bytes: [UInt8] = [1]
        func append(_ length: Int) {
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: length).littleEndian) { bytes.append(contentsOf: $0) }
        }
        for (key, value) in sorted(by: { $0.key < $1.key }) {
            append(key.utf8.count)
            bytes.append(contentsOf: key.utf8)
            append(value?.count ?? -1)
            bytes.append(contentsOf: value ?? [])
        }
        return Data(bytes)
    }

    /// `nil` if the bytes are of another form.
    init?(encoded: Data) {
        var rest = [UInt8](encoded)[...]
        guard rest.popFirst() == 1 else { return nil }
        func length() -> UInt32? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        func bytes(_ count: UInt32) -> [UInt8]? {
            guard rest.count >= Int(count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return Array(rest.prefix(Int(count)))
        }
        self.init()
        while !rest.isEmpty {
            guard let size = length(), let name = bytes(size), let key = String(validating: name, as: UTF8.self),
                let count = length()
            else { return nil }
            if count == .max {
                self[key] = .some(nil)
            } else {
                guard let value = bytes(count) else { return nil }
                self[key] = value
            }
        }
    }
}

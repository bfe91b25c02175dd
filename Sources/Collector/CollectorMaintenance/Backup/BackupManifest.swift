import FoundationEssentials
import Glibc
import LogArchive
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The list of a backup's files: `<backup>/manifest.ndjson`, one JSON object a line, written when everything else is on
/// disk. A backup without it, or whose last line does not say that it is complete, is none.
///
///     {"format":1,"collector":"...","incarnation":"...","at":1790000000000000}
///     {"path":"records/2026-03-01/sample.sqlite","bytes":40960,"sha256":"..."}
///     {"complete":true,"files":1,"bytes":40960}
package enum BackupManifest {
    static let name = "manifest.ndjson"
    static let format = 1

    struct Head: Codable, Equatable {
        var format: Int
        var collector: String
        var incarnation: String
        /// When it was begun, microseconds since 1970.
        var at: Int64
    }

    package struct Summary: Codable, Equatable, Sendable {
        var complete = true
        package var files = 0
        package var bytes: Int64 = 0
    }

    /// Whether a path is one that a backup may hold: a file of ours, below the directory and nowhere else.
    static func isSafe(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(".") }) else { return false }
        switch parts.first {
        case "collector.sqlite": return parts.count == 1
        case "records": return parts.count == 3 && UTCDay(String(parts[1])) != nil && parts[2].hasSuffix(".sqlite")
        case "chunks": return parts.count == 5
        default: return false
        }
    }
}

/// Writes the list as the files are copied.
struct BackupManifestWriter: ~Copyable {
    private let file: OpenFile<StoreError>
    private let path: String
    private(set) var summary = BackupManifest.Summary()

    /// Written beside its name, so that it has that only when it is whole.
    init(directory: String) throws(StoreError) {
        path = "\(directory)/\(BackupManifest.name)"
        file = try OpenFile(creating: "\(path).partial")
    }

    func write(_ head: BackupManifest.Head) throws(StoreError) { try write(line: head) }

    mutating func add(_ file: BackupFile) throws(StoreError) {
        try write(line: file)
        summary.files += 1
        summary.bytes += file.bytes
    }

    /// Everything else is on disk.
    func finish(in directory: String) throws(StoreError) {
        try write(line: summary)
        try file.sync()
        try Files<StoreError>.rename("\(path).partial", to: path)
        try Files<StoreError>.sync(directory: directory)
    }

    private func write(line: some Encodable) throws(StoreError) {
        guard var bytes = try? JSONEncoder.stable().encode(line) else {
            throw StoreError(.internalFault, "\(path): a line cannot be encoded.")
        }
        bytes.append(UInt8(ascii: "\n"))
        try file.write(bytes.bytes)
    }
}

/// Reads a backup's list, line by line.
struct BackupManifestReader {
    private let path: String
    let head: BackupManifest.Head
    let summary: BackupManifest.Summary

    /// Reads it once through: nothing is done with a backup that is not complete.
    /// - Throws: `.notFound`, `.corrupt`, `.newerVersion`, `.io`.
    init(directory: String) throws(StoreError) {
        path = "\(directory)/\(BackupManifest.name)"
        guard Paths.exists(path) else {
            throw StoreError(.notFound, "\(directory) is not a complete backup: it has no \(BackupManifest.name).")
        }
        var head: BackupManifest.Head?
        var counted = BackupManifest.Summary()
        var stated: BackupManifest.Summary?
        let path = path
        try Self.forEachLine(of: path) { line throws(StoreError) in
            let decoder = JSONDecoder()
            if head == nil {
                guard let found = try? decoder.decode(BackupManifest.Head.self, from: line) else {
                    throw Self.damaged(path)
                }
                guard found.format == BackupManifest.format else {
                    throw StoreError(
                        .newerVersion,
                        "\(path) has format \(found.format), and this program reads format \(BackupManifest.format). "
                            + "Restore the backup with the version that made it.")
                }
                head = found
            } else if stated != nil {
                throw Self.damaged(path)
            } else if let file = try? decoder.decode(BackupFile.self, from: line) {
                guard BackupManifest.isSafe(file.path) else { throw Self.damaged(path) }
                counted.files += 1
                counted.bytes += file.bytes
            } else {
                stated = try? decoder.decode(BackupManifest.Summary.self, from: line)
                if stated == nil { throw Self.damaged(path) }
            }
        }
        guard let head, let stated, stated == counted else { throw Self.damaged(path) }
        self.head = head
        summary = stated
    }

    func forEachFile(_ body: (BackupFile) throws(StoreError) -> Void) throws(StoreError) {
        try Self.forEachLine(of: path) { line throws(StoreError) in
            if let file = try? JSONDecoder().decode(BackupFile.self, from: line) { try body(file) }
        }
    }

    private static func damaged(_ path: String) -> StoreError {
        StoreError(.corrupt, "\(path) is damaged or incomplete. Use another backup.")
    }

    private static func forEachLine(of path: String, _ body: (Data) throws(StoreError) -> Void) throws(StoreError) {
        guard let file = fopen(path, "re") else { throw StoreError(FileError("opening", path)) }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while true {
            let count = getline(&line, &capacity, file)
            guard count > 0, let line else {
                if ferror(file) != 0 { throw StoreError(FileError("reading", path)) }
                return
            }
            try body(Data(UnsafeRawBufferPointer(start: line, count: count)))
        }
    }
}

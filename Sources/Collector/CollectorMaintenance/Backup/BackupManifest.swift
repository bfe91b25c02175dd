import FoundationEssentials
import Glibc
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The list of a backup's files, one JSON object a line. A backup whose last line does not say that it is complete is
/// none.
///
///     {"format":1,"collector":"...","incarnation":"...","at":1790000000000000}
///     {"path":"records/2026-03-01/sample.sqlite","bytes":40960,"sha256":"..."}
///     {"complete":true,"files":1,"bytes":40960}
///
/// A backup in a directory has it as `manifest.ndjson`, written when everything else is on disk. In an encrypted backup
/// each line of a file has the file's bytes after it.
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

        mutating func add(_ file: BackupFile) {
            files += 1
            bytes = bytes.addingSaturating(file.bytes)
        }
    }

    /// A line with its line feed.
    static func line(_ value: some Encodable, of path: String) throws(StoreError) -> Data {
        guard var bytes = try? JSONEncoder.stable().encode(value) else {
            throw StoreError(.internalFault, "\(path): a line cannot be encoded.")
        }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
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
        summary.add(file)
    }

    /// Everything else is on disk.
    func finish(in directory: String) throws(StoreError) {
        try write(line: summary)
        try file.sync()
        try Files<StoreError>.rename("\(path).partial", to: path)
        try Files<StoreError>.sync(directory: directory)
    }

    private func write(line: some Encodable) throws(StoreError) {
        let bytes = try BackupManifest.line(line, of: path)
        try file.write(bytes.bytes)
    }
}

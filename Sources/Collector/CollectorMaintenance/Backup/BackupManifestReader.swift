import FoundationEssentials
import Glibc
import RecordStore
import TelemetryBasics

/// Understands the lines of a backup's list in their order, and counts what they name.
struct BackupManifestParser {
    /// Longer than any that a backup has: a path has at most a few hundred bytes.
    static let lineBytesMaximum = 16 << 10

    /// The list, in messages.
    private let path: String
    private var head: BackupManifest.Head?
    private var counted = BackupManifest.Summary()
    private var stated: BackupManifest.Summary?

    init(path: String) { self.path = path }

    /// Whether the last line was taken.
    var isComplete: Bool { stated != nil }

    /// Takes the next line.
    /// - Returns: the file that it names; `nil` for the first and the last line.
    /// - Throws: `.corrupt`, `.newerVersion`.
    mutating func take(_ line: Data) throws(StoreError) -> BackupFile? {
        let decoder = JSONDecoder()
        guard head != nil else {
            guard let found = try? decoder.decode(BackupManifest.Head.self, from: line) else { throw damaged }
            guard found.format == BackupManifest.format else {
                throw StoreError(
                    .newerVersion,
                    "\(path) has format \(found.format), and this program reads format \(BackupManifest.format). "
                        + "Restore the backup with the version that made it.")
            }
            head = found
            return nil
        }
        guard stated == nil else { throw damaged }
        if let file = try? decoder.decode(BackupFile.self, from: line) {
            guard BackupManifest.isSafe(file.path), file.bytes >= 0 else { throw damaged }
            counted.add(file)
            return file
        }
        stated = try? decoder.decode(BackupManifest.Summary.self, from: line)
        guard stated != nil else { throw damaged }
        return nil
    }

    /// The list as a whole.
    /// - Throws: `.corrupt` if it does not end, or does not say what it has.
    func finished() throws(StoreError) -> (head: BackupManifest.Head, summary: BackupManifest.Summary) {
        guard let head, let stated, stated == counted else { throw damaged }
        return (head, stated)
    }

    private var damaged: StoreError {
        StoreError(.corrupt, "\(path) is damaged or incomplete. Use another backup.")
    }
}

/// Reads the list of a backup in a directory.
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
        var parser = BackupManifestParser(path: path)
        try Self.forEachLine(of: path) { line throws(StoreError) in _ = try parser.take(line) }
        (head, summary) = try parser.finished()
    }

    func forEachFile(_ body: (BackupFile) throws(StoreError) -> Void) throws(StoreError) {
        try Self.forEachLine(of: path) { line throws(StoreError) in
            if let file = try? JSONDecoder().decode(BackupFile.self, from: line) { try body(file) }
        }
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

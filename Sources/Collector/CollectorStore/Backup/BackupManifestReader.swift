import FoundationEssentials
import Glibc

/// Reads a backup's list, line by line.
struct BackupManifestReader {
    private let path: String
    let head: BackupManifest.Head
    let summary: BackupManifest.Summary

    /// Reads it once through: nothing is done with a backup that is not complete.
    /// - Throws: `.notFound`, `.corrupt`, `.newerVersion`, `.io`.
    init(directory: String) throws(StoreError) {
        path = "\(directory)/\(BackupManifest.name)"
        guard DataDirectory.exists(path) else {
            throw StoreError(.notFound, "\(directory) is not a complete backup: there is no \(BackupManifest.name).")
        }
        var head: BackupManifest.Head?
        var counted = BackupManifest.Summary()
        var stated: BackupManifest.Summary?
        let path = path
        try Self.forEachLine(of: path) { line throws(StoreError) in
            let decoder = JSONDecoder()
            if head == nil {
                guard let found = try? decoder.decode(BackupManifest.Head.self, from: line) else { throw Self.damaged(path) }
                guard found.format <= BackupManifest.format else {
                    throw StoreError(.newerVersion, "\(path) was made by a newer version. Restore it with that.")
                }
                head = found
            } else if stated != nil {
                throw Self.damaged(path)
            } else if let file = try? decoder.decode(BackupManifest.File.self, from: line) {
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

    func forEachFile(_ body: (BackupManifest.File) throws(StoreError) -> Void) throws(StoreError) {
        try Self.forEachLine(of: path) { line throws(StoreError) in
            if let file = try? JSONDecoder().decode(BackupManifest.File.self, from: line) { try body(file) }
        }
    }

    private static func damaged(_ path: String) -> StoreError {
        StoreError(.corrupt, "\(path) is damaged or cut short. Take another backup.")
    }

    private static func forEachLine(of path: String, _ body: (Data) throws(StoreError) -> Void) throws(StoreError) {
        guard let file = fopen(path, "re") else { throw DataDirectory.failure("open", path) }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while true {
            let count = getline(&line, &capacity, file)
            guard count > 0, let line else {
                if ferror(file) != 0 { throw DataDirectory.failure("read", path) }
                return
            }
            try body(Data(UnsafeRawBufferPointer(start: line, count: count)))
        }
    }
}

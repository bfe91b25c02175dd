import Glibc
import SQLite

extension DataDirectory {
    /// Opens one of its files to read, beside a writer - or in a directory that cannot be written, such as a mounted backup.
    ///
    /// SQLite needs to make files beside a WAL database even to read it. Where it cannot, the file is read as one that nobody changes,
    /// which is right only while no collector holds the directory and no log is left beside the file.
    func openReading(_ path: String, options given: Connection.Options) throws(SQLiteError) -> Connection {
        do {
            return try Connection(path: path, options: given)
        } catch {
            let cannotMakeFiles = error.code == .cannotOpen || error.code == .readOnly || error.code == .io
            guard cannotMakeFiles, Self.exists(path), access(Self.directory(of: path), W_OK) != 0 else { throw error }
            if (Self.size(of: "\(path)-wal") ?? 0) > 0 {
                throw SQLiteError(
                    code: .cannotOpen,
                    message: "\(path) has a log beside it and its directory cannot be written: what is in the log could not be read. "
                        + "Copy the directory to where it can be written, and look there.",
                    operation: "open read-only")
            }
            guard !isHeld else { throw error }
            var options = given
            options.immutable = true
            return try Connection(path: path, options: options)
        }
    }

    /// Whether a collector has the directory open. What cannot be asked counts as held.
    private var isHeld: Bool {
        for path in [lockPath, recordsLockPath] {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else {
                if errno == ENOENT { continue }
                return true
            }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
            flock(descriptor, LOCK_UN)
        }
        return false
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

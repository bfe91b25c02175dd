import FoundationEssentials
import Glibc
import TelemetryBasics

extension OpenFile where Failure == LogStoreError {
    /// Opens a file to read.
    /// - Throws: `.notFound` if there is no such file.
    package init(reading path: String) throws(LogStoreError) { try self.init(path, O_RDONLY | O_NOFOLLOW) }

    /// Makes a new file of mode 0600, or as ``GroupAccess`` says. Whatever was there under this name is removed.
    package init(replacing path: String) throws(LogStoreError) {
        try Files<LogStoreError>.remove(path)
        try self.init(creating: path)
        GroupAccess.handOn(descriptor, path)
    }

    /// Reads the whole file.
    /// - Throws: `.damaged` if it has more than `maximumBytes`.
    package func readWhole(maximumBytes: Int) throws(LogStoreError) -> Data {
        let size = try byteCount()
        guard size <= maximumBytes else {
            throw LogStoreError(.damaged, "\(path) has \(size) bytes, at most \(maximumBytes) are expected. Remove it.")
        }
        return Data(try read(size, at: 0))
    }
}

/// Lets the group of a log directory read its files if the directory's mode allows that (0750; the default is 0700).
///
/// The directory alone decides, so all programs that write to a store agree. A set-group-ID bit would not be enough: a
/// service may be forbidden to set it, and the usual umask keeps the group from reading.
enum GroupAccess {
    private static let readable: mode_t = 0o050

    /// Call it with each new file. If this fails, the group cannot read the file; there is no other effect.
    static func handOn(_ descriptor: Int32, _ path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        var status = stat()
        guard stat(String(path[..<slash]), &status) == 0, status.st_mode & readable == readable else { return }
        guard fchown(descriptor, .max, status.st_gid) == 0 else { return }
        fchmod(descriptor, 0o640)
    }
}

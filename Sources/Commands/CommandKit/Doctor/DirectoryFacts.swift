import Glibc
import TelemetryBasics

/// What `doctor` sees of a data directory from outside.
package struct DirectoryFacts {
    /// What a try writes: as much as a small commit.
    private static let trialBytes = 64 << 10

    package let path: String
    /// For users other than root; `nil` if unknown.
    package private(set) var freeBytes: UInt64?
    /// Why nothing can be written there; `nil` if something can, or nobody tried.
    package private(set) var writeObstacle: String?
    /// Files that do not belong to the directory's owner, who is named with them; `nil` if there are none, or this user
    /// may not look.
    package private(set) var strangers: (owner: String, files: [String])?
    /// Who beside the owner can change the directory.
    package private(set) var exposures: [DirectoryExposure] = []

    package init(_ path: String) {
        self.path = path
        var mark = stat()
        guard stat(path, &mark) == 0, mark.st_mode & S_IFMT == S_IFDIR else { return }
        exposures = DirectoryExposure.of(mode: mark.st_mode, owner: mark.st_uid, user: mark.st_uid)
        var room = statvfs()
        if statvfs(path, &room) == 0 { freeBytes = UInt64(room.f_bavail) * UInt64(room.f_frsize) }
        writeObstacle = Self.tryToWrite(path)
        do throws(FileError) {
            let others = try Files<FileError>.names(in: path).filter { name in
                var status = stat()
                return lstat("\(path)/\(name)", &status) == 0 && status.st_uid != mark.st_uid
            }
            if !others.isEmpty { strangers = (AccessDenial.userName(mark.st_uid), others.sorted()) }
        } catch {
            // A group that may enter may not list.
        }
    }

    /// Writes to a file without a name, which is gone when it is closed. A file system without such files is not
    /// written to, nor one that this user may not write to.
    private static func tryToWrite(_ directory: String) -> String? {
        // O_TMPFILE, which Glibc's module does not have, is this bit and O_DIRECTORY.
        let unnamed = 0o20_000_000 | O_DIRECTORY
        let descriptor = open(directory, O_WRONLY | O_CLOEXEC | unnamed, 0o600)
        guard descriptor >= 0 else {
            return [EROFS, ENOSPC, EDQUOT].contains(errno) ? String(cString: strerror(errno)) : nil
        }
        defer { close(descriptor) }
        let failure = [UInt8](repeating: 1, count: trialBytes).withUnsafeBytes {
            writeAll($0, to: descriptor).systemError
        }
        if let failure { return String(cString: strerror(failure)) }
        return fsync(descriptor) == 0 ? nil : String(cString: strerror(errno))
    }

    /// - Parameter lowBytes: less room than this is a warning.
    package func room(_ name: String, lowBytes: UInt64) -> DoctorCheck {
        let clear = "make room: df -h \(path); du -xh \(path) | sort -h | tail"
        if let writeObstacle { return .broken(name, "\(path) cannot be written: \(writeObstacle)", remedy: clear) }
        guard let freeBytes else { return .notReached(name, "\(path) is not there, or is closed to this user") }
        let found = "\(ByteText.of(Int(clamping: freeBytes))) free for \(path)"
        return freeBytes < lowBytes ? .warning(name, found, remedy: clear) : .ok(name, found)
    }

    /// Files of other users, and who can change the directory.
    /// - Returns: `nil` if neither is wrong.
    package func ownership(_ name: String) -> DoctorCheck? {
        if let (owner, files) = strangers {
            let some = files.prefix(3).joined(separator: ", ") + (files.count > 3 ? " and \(files.count - 3) more" : "")
            return .broken(
                name, "\(some) in \(path) do not belong to \(owner), the directory's owner",
                remedy: "chown -R \(owner): \(path)")
        }
        return exposures.first.map { .warning(name, $0.message(path), remedy: "chmod go-w \(path)") }
    }
}

#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension LinuxHostSource {
    package func fileStatus(_ path: String) -> FileStatus? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return FileStatus(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), mode: UInt32(status.st_mode), owner: UInt32(status.st_uid),
            group: UInt32(status.st_gid), size: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
            changed: Self.nanoseconds(status.st_ctim))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
}
#endif

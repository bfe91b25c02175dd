#if canImport(Glibc)
import Glibc
#endif

/// What a file system offers to ordinary users.
struct FreeSpace: Equatable, Sendable {
    var bytes: UInt64
    var inodes: UInt64
    /// 0 where the file system has no such notion.
    var totalInodes: UInt64

    /// Whether `bytes` more may be taken, leaving what is to be kept.
    func allows(_ wanted: UInt64, keepBytes: UInt64, keepInodesPercent: UInt64) -> Bool {
        guard bytes >= wanted, bytes - wanted >= keepBytes else { return false }
        return totalInodes == 0 || inodes >= totalInodes / 100 * keepInodesPercent
    }

    #if canImport(Glibc)
    /// `nil` where the system does not say.
    init?(path: String) {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        self.init(
            bytes: UInt64(figures.f_bavail) * UInt64(figures.f_frsize), inodes: UInt64(figures.f_favail),
            totalInodes: UInt64(figures.f_files))
    }
    #endif

    init(bytes: UInt64, inodes: UInt64, totalInodes: UInt64) {
        self.bytes = bytes
        self.inodes = inodes
        self.totalInodes = totalInodes
    }
}

import Glibc

/// Lets the group of a log directory read what is written there, where the directory's mode says so (0750). By default
/// it does not (0700).
///
/// The directory alone decides, so that all programs that write to a store agree. Its set-group-ID bit would hand the
/// group on too, but a service may be forbidden to set it, and the usual umask would keep the group from reading.
enum GroupAccess {
    private static let readable: mode_t = 0o050

    /// To be called with each new file. Where the group cannot be handed on, its members miss this file, and nothing
    /// else happens.
    static func handOn(_ descriptor: Int32, _ path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        var status = stat()
        guard stat(String(path[..<slash]), &status) == 0, status.st_mode & readable == readable else { return }
        guard fchown(descriptor, .max, status.st_gid) == 0 else { return }
        fchmod(descriptor, 0o640)
    }
}

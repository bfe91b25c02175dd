import Glibc

/// Which file was open under a name, so that one that was removed or put in its place is noticed.
struct FileIdentity: Equatable, Sendable {
    let path: String
    private let device: UInt64
    private let inode: UInt64

    /// Of what the name leads to now.
    init(path: String) {
        self.path = path
        var status = stat()
        let isThere = stat(path, &status) == 0
        device = isThere ? UInt64(status.st_dev) : 0
        inode = isThere ? UInt64(status.st_ino) : 0
    }

    /// Whether the name still leads to that file.
    var isInPlace: Bool { inode != 0 && FileIdentity(path: path) == self }
}

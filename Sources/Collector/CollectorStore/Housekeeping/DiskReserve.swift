import Glibc

/// Room that is kept so that something can be removed from a full disk: before anything is removed, that it is gone has to be written down.
///
/// `<data>/reserve` is a file without a meaning. Who cannot remove something for want of room gives it up and tries once more; it is made
/// again when there is room. What else writes meanwhile may take its place: then the next try may find it made again, or more room.
struct DiskReserve: Sendable {
    private let path: String
    private let directory: DataDirectory

    static let bytes: UInt64 = 8 << 20
    /// It is made where at least so many times its size is free.
    static let leastTimesFree: UInt64 = 4

    init(directory: DataDirectory) {
        self.directory = directory
        path = directory.path + "/reserve"
    }

    /// Makes it where it is not there and there is room enough. A disk that does not let it be made has none.
    func hold() {
        guard !DataDirectory.exists(path), let free = directory.disk?.freeBytes, free >= Self.leastTimesFree * Self.bytes else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if posix_fallocate(descriptor, 0, off_t(Self.bytes)) != 0 { unlink(path) }
    }

    /// - Returns: whether it is worth another try: there was no room, and there is some now.
    func giveUp(for error: StoreError) -> Bool {
        error.code == .diskFull && unlink(path) == 0
    }
}

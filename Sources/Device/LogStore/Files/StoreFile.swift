import FoundationEssentials
import Glibc

/// An open file; closed when it goes. Reading is by offset, so nothing is shared but the file itself.
package struct StoreFile: ~Copyable {
    package let descriptor: Int32
    package let path: String

    /// Takes over a descriptor.
    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// For reading.
    /// - Throws: `.notFound` where there is no such file.
    package init(reading path: String) throws(LogStoreError) {
        try self.init(path, O_RDONLY | O_NOFOLLOW, doing: "opening")
    }

    /// A new file of mode 0600, or as ``GroupAccess`` says; what was there under this name is gone.
    package init(replacing path: String) throws(LogStoreError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw .system("removing", path) }
        try self.init(path, O_RDWR | O_CREAT | O_EXCL, doing: "creating")
    }

    private init(_ path: String, _ flags: Int32, doing action: String) throws(LogStoreError) {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(action, path) }
        if flags & O_CREAT != 0 { GroupAccess.handOn(descriptor, path) }
        self.init(descriptor: descriptor, path: path)
    }

    deinit { close(descriptor) }

    /// The same file once more.
    package func duplicate() throws(LogStoreError) -> StoreFile {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .system("opening", path) }
        return StoreFile(descriptor: copy, path: path)
    }

    package func byteCount() throws(LogStoreError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system("reading", path) }
        return Int(status.st_size)
    }

    /// Fills the buffer as far as the file goes.
    /// - Returns: how many bytes; fewer than asked for only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(LogStoreError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = pread(descriptor, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset + filled))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system("reading", path) }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// As many bytes as there are, at most `count`.
    package func read(_ count: Int, at offset: Int) throws(LogStoreError) -> [UInt8] {
        var failure: LogStoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(LogStoreError) {
                filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// The whole file.
    /// - Throws: `.damaged` for one of more than `maximumBytes`.
    package func readWhole(maximumBytes: Int) throws(LogStoreError) -> Data {
        let size = try byteCount()
        guard size <= maximumBytes else {
            throw LogStoreError(.damaged, "\(path) has \(size) bytes, at most \(maximumBytes) are expected. Remove it.")
        }
        return Data(try read(size, at: 0))
    }

    /// Writes all at the file's position.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(LogStoreError) {
        try Self.write(bytes, to: descriptor, path)
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String) throws(LogStoreError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("writing", path) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    package func write(_ bytes: [UInt8]) throws(LogStoreError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(LogStoreError) in try write(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Returns once the content is on synced disk.
    package func sync() throws(LogStoreError) {
        guard fsync(descriptor) == 0 else { throw .system("syncing", path) }
    }
}

/// Reads small files that people name, without taking in a large or endless one.
package enum BoundedFile {
    package enum Content {
        case whole(Data)
        case tooLong
    }

    /// `nil` where the file cannot be opened or read, or is a directory.
    package static func read(_ path: String, maximumBytes: Int) -> Content? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + filled, $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return .whole(Data(bytes[..<filled])) }
            filled += count
        }
        return .tooLong
    }
}

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

/// The hold on a store's `lock`, for as long as this value lives; the kernel ends it with the process. For moments:
/// whoever has it neither compresses nor reads lines.
struct StoreLock: ~Copyable {
    private let descriptor: Int32

    /// Half a second of waiting: a holder needs milliseconds, and one that was stopped must not stop others.
    private static let attempts = 500
    private static let pauseNanoseconds = 1_000_000

    /// - Throws: `.busy` if another has it for longer than anybody should.
    init(_ directory: StoreDirectory) throws(LogStoreError) {
        let path = directory.path(SegmentName.lockName)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system("opening", path) }
        for _ in 1...Self.attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                self.descriptor = descriptor
                return
            }
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            var pause = timespec(tv_sec: 0, tv_nsec: Self.pauseNanoseconds)
            nanosleep(&pause, nil)
        }
        let number = errno
        close(descriptor)
        guard number == EWOULDBLOCK else { throw .system("locking", path, errno: number) }
        throw LogStoreError(
            .busy, "\(path) is held by another process that does not let go of it. Find it with `fuser \(path)`.")
    }

    deinit {
        // Closing alone would leave it held by a child that is being started at this moment: it has a copy until it
        // calls exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

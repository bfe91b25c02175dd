import Glibc

/// An open file; closed when it goes. Reading by offset shares nothing but the file itself.
///
/// `Failure` is the error of the target that uses it: each call throws it, made from the `FileError`.
package struct OpenFile<Failure: FileFailure>: ~Copyable {
    package let descriptor: Int32
    package let path: String
    private var isLocked = false

    /// Adopts a descriptor.
    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// - Parameter flags: of open(2); `O_CLOEXEC` is added.
    package init(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(Failure) {
        let descriptor = retryingOnInterrupt { open(path, flags | O_CLOEXEC, mode) }
        guard descriptor >= 0 else {
            throw Failure(FileError(flags & O_CREAT == 0 ? "opening" : "creating", path))
        }
        self.init(descriptor: descriptor, path: path)
    }

    /// A new file of mode 0600. Something under that name, be it a link, is an error.
    package init(creating path: String) throws(Failure) {
        try self.init(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    /// Opens a file for reading.
    /// - Returns: `nil` where there is no such file.
    package static func reading(_ path: String, flags: Int32 = O_NOFOLLOW) throws(Failure) -> OpenFile? {
        let descriptor = retryingOnInterrupt { open(path, O_RDONLY | flags | O_CLOEXEC) }
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw Failure(FileError("opening", path)) }
        return OpenFile(descriptor: descriptor, path: path)
    }

    deinit {
        // Closing alone would leave the lock held by a child that is being started at this moment: it has a copy of the
        // descriptor until it calls exec.
        if isLocked { flock(descriptor, LOCK_UN) }
        close(descriptor)
    }

    /// The same open file once more.
    package func duplicate() throws(Failure) -> OpenFile {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw failure("opening") }
        return OpenFile(descriptor: copy, path: path)
    }

    package func byteCount() throws(Failure) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("reading") }
        return Int(status.st_size)
    }

    /// Fills the buffer as far as the file goes.
    /// - Parameter offset: `nil`: the file's position, as pipes need it.
    /// - Returns: how many bytes; fewer than asked for only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int? = nil) throws(Failure) -> Int {
        var filled = 0
        while filled < buffer.count {
            let (place, room) = (buffer.baseAddress! + filled, buffer.count - filled)
            let count = retryingOnInterrupt {
                if let offset {
                    pread(descriptor, place, room, off_t(offset + filled))
                } else {
                    Glibc.read(descriptor, place, room)
                }
            }
            guard count >= 0 else { throw failure("reading") }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Reads as many bytes as there are, at most `count`.
    package func read(_ count: Int, at offset: Int? = nil) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(Failure) {
                filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads in blocks, so that a file of any size uses little memory.
    /// - Parameter range: `nil`: from the file's position to its end.
    /// - Returns: how many bytes it read; fewer than the range has only where the file ends before it.
    @discardableResult
    package func forEachBlock(
        of range: Range<Int>? = nil, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { block.deallocate() }
        var total = 0
        while true {
            let wanted = range.map { min(block.count, $0.count - total) } ?? block.count
            let count = try read(
                into: UnsafeMutableRawBufferPointer(rebasing: block[..<wanted]), at: range.map { $0.lowerBound + total }
            )
            if count > 0 { try body(UnsafeRawBufferPointer(rebasing: block[..<count])) }
            total += count
            if count < block.count { return total }
        }
    }

    /// Writes all at the file's position.
    package func write(_ bytes: RawSpan) throws(Failure) {
        try bytes.withUnsafeBytes { (bytes) throws(Failure) in
            if let systemError = writeAll(bytes, to: descriptor).systemError {
                throw Failure(FileError("writing", path, systemError))
            }
        }
    }

    package func write(_ bytes: [UInt8]) throws(Failure) { try write(bytes.span.bytes) }

    /// Returns once the content is on synced disk.
    package func sync() throws(Failure) {
        guard retryingOnInterrupt({ fsync(descriptor) }) == 0 else { throw failure("syncing") }
    }

    /// Acquires the file's exclusive lock (flock(2)) without waiting. This value holds it until it goes.
    /// - Returns: `false` where another holds it, or where the file was removed since it was opened: whoever held the
    ///   lock may have removed the file and then let go.
    package mutating func lock() throws(Failure) -> Bool {
        isLocked = retryingOnInterrupt { flock(descriptor, LOCK_EX | LOCK_NB) } == 0
        guard isLocked || errno == EWOULDBLOCK else { throw failure("locking") }
        return isLocked && !isRemoved
    }

    /// Waits for the exclusive lock, which may be that of a directory. This value holds it until it goes.
    package mutating func waitForLock() throws(Failure) {
        guard retryingOnInterrupt({ flock(descriptor, LOCK_EX) }) == 0 else { throw failure("locking") }
        isLocked = true
    }

    /// Whether the file has no name any more.
    package var isRemoved: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    /// The error of the system call that has just failed.
    package func failure(_ action: String) -> Failure { Failure(FileError(action, path)) }
}

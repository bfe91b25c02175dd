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
            do throws(LogStoreError) { filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset) } catch {
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
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("writing", path) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    package func write(_ bytes: [UInt8]) throws(LogStoreError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(LogStoreError) in try write(UnsafeRawBufferPointer(buffer)) }
    }

    /// Returns once the content is on synced disk.
    package func sync() throws(LogStoreError) {
        guard fsync(descriptor) == 0 else { throw .system("syncing", path) }
    }
}

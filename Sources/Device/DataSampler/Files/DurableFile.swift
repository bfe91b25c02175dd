import FoundationEssentials
import Glibc

/// A small file of the data directory that is replaced whole and never edited, such as identity or push token. Mode
/// 0600.
///
/// A replacement is written to a temporary file, synced and renamed, and the directory is synced: after a crash the
/// file holds the old content or the new one. Callers replace a file from one thread at a time.
struct DurableFile: Sendable {
    /// Content of ours has a few hundred bytes; what is longer is not one of ours, and is not read whole.
    static let defaultMaximumBytes = 64 * 1024

    let path: String
    private let directory: String
    private let code: DataSamplerError.Code

    /// - Parameter code: what its errors carry.
    init(directory: String, name: String, code: DataSamplerError.Code = .storage) {
        self.directory = directory
        self.code = code
        path = "\(directory)/\(name)"
    }

    /// At most the first `maximumBytes`; `nil` where there is no such file.
    func read(maximumBytes: Int = defaultMaximumBytes) throws(DataSamplerError) -> Data? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("opening", path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("reading", path) }
        var bytes = [UInt8](repeating: 0, count: min(maximumBytes, Int(clamping: status.st_size)))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + filled, $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("reading", path) }
            if count == 0 { break }
            filled += count
        }
        return Data(bytes[..<filled])
    }

    /// Replaces the file in one step; returns once file and directory are synced.
    func replace(with bytes: Data) throws(DataSamplerError) {
        let temporary = "\(path).new"
        try write(bytes, to: temporary)
        guard rename(temporary, path) == 0 else { throw failure("replacing", path) }
        try syncDirectory()
    }

    /// Removes the file for good; harmless where there is none.
    func remove() throws(DataSamplerError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("removing", path) }
        try syncDirectory()
    }

    /// Renames a damaged file to `<name>.damaged`, over an earlier one, so that somebody can look at it.
    func keepAsDamaged() throws(DataSamplerError) {
        guard rename(path, "\(path).damaged") == 0 else { throw failure("setting aside", path) }
        try syncDirectory()
    }

    private func write(_ bytes: Data, to path: String) throws(DataSamplerError) {
        _ = unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("creating", path) }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("writing", path) }
            written += count
        }
        guard fsync(descriptor) == 0 else { throw failure("syncing", path) }
    }

    private func syncDirectory() throws(DataSamplerError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("opening", directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("syncing", directory) }
    }

    private func failure(_ doing: String, _ path: String) -> DataSamplerError {
        DataSamplerError(code, "\(doing) \(path) failed: \(String(cString: strerror(errno))) (errno \(errno))")
    }
}

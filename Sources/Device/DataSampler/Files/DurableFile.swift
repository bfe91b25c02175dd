import FoundationEssentials
import Glibc
import TelemetryBasics

/// A small file of the data directory that is replaced whole and never edited, such as identity or push token. Mode
/// 0600.
///
/// After a crash the file holds the old content or the new one. Callers replace a file from one thread at a time.
struct DurableFile: Sendable {
    /// Content of ours has a few hundred bytes; what is longer is not one of ours, and is not read whole.
    static let defaultMaximumBytes = 64 * 1024
    static let damagedSuffix = ".damaged"

    let path: String
    private let code: DataSamplerError.Code

    /// - Parameter code: what its errors carry.
    init(directory: String, name: String, code: DataSamplerError.Code = .storage) {
        self.code = code
        path = "\(directory)/\(name)"
    }

    /// The content, at most its first `maximumBytes`; `nil` where there is no such file.
    func read(maximumBytes: Int = defaultMaximumBytes) throws(DataSamplerError) -> Data? {
        try naming { () throws(FileError) in
            try Files<FileError>.read(path, maximumBytes: maximumBytes).map { Data($0) }
        }
    }

    /// Replaces the file in one step; returns once file and directory are synced.
    func replace(with bytes: Data) throws(DataSamplerError) {
        try naming { () throws(FileError) in try Files<FileError>.replace(path, with: bytes.bytes) }
    }

    /// Removes the file for good; harmless where there is none.
    func remove() throws(DataSamplerError) {
        try naming { () throws(FileError) in
            try Files<FileError>.remove(path)
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    /// Removes what a crash or damage left beside the file.
    func removeLeftovers() throws(DataSamplerError) {
        try naming { () throws(FileError) in
            try Files<FileError>.remove("\(path).new")
            try Files<FileError>.remove(path + Self.damagedSuffix)
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    /// Renames a damaged file to `<name>.damaged`, over an earlier one, so that somebody can look at it.
    func keepAsDamaged() throws(DataSamplerError) {
        try naming { () throws(FileError) in
            try Files<FileError>.rename(path, to: path + Self.damagedSuffix)
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    private func naming<Result>(_ body: () throws(FileError) -> Result) throws(DataSamplerError) -> Result {
        do { return try body() } catch { throw DataSamplerError(error, otherwise: code) }
    }
}

import CommandKit
import Foundation
import Glibc
import RecordStore
import Registry
import TelemetryBasics

/// A file that only its owner can read (0600). It is complete and synced to disk, or it does not exist.
struct OwnerFile {
    let path: String

    /// - Parameter remedy: what to do if the file cannot be written.
    func replace(with text: String, remedy: String) throws(CommandError) {
        try saying(remedy) { () throws(FileError) in
            try Files<FileError>.replace(path, with: text.utf8.span.bytes)
        }
    }

    /// Fails if the file exists.
    func create(with text: String, remedy: String) throws(CommandError) {
        try saying(remedy) { () throws(FileError) in
            let new = "\(path).new"
            try Files<FileError>.write(text.utf8.span.bytes, to: new, sync: .content)
            defer { unlink(new) }
            guard link(new, path) == 0 else { throw FileError("creating", path) }
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    private func saying(_ remedy: String, _ body: () throws(FileError) -> Void) throws(CommandError) {
        do { try body() } catch { throw CommandError(.failed, "\(error). \(remedy)") }
    }
}

/// The two files that the first start writes to the data directory. Each holds one token and a newline, and only its
/// owner can read it (0600).
struct FirstStartFiles: Sendable {
    let directory: String

    var enrollmentTokenPath: String { "\(directory)/enrollment-token" }
    var administratorTokenPath: String { "\(directory)/administrator-token" }

    /// Replaces older files: they belong to an earlier collector, so their tokens are void.
    func write(_ created: FirstStart) throws(StoreError) {
        let remedy = "Fix that, then start again."
        do throws(CommandError) {
            try OwnerFile(path: enrollmentTokenPath).replace(with: created.enrollmentToken + "\n", remedy: remedy)
            try OwnerFile(path: administratorTokenPath).replace(with: created.administratorToken + "\n", remedy: remedy)
        } catch { throw StoreError(.io, error.message) }
    }
}

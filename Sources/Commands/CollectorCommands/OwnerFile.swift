import CollectorStore
import CommandKit
import Foundation
import Glibc
import TelemetryBasics

/// A file for its owner alone (0600). It is there whole, on synced disk, or not at all.
struct OwnerFile {
    let path: String

    /// - Parameter remedy: what to do where it cannot be written.
    func replace(with text: String, remedy: String) throws(CommandError) {
        try saying(remedy) { () throws(FileError) in
            try Files<FileError>.replace(path, with: text.utf8.span.bytes)
        }
    }

    /// Fails where the file is there already.
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

/// The two files that the first start leaves in the data directory, each with one token and a newline, for the owner
/// alone (0600).
struct FirstStartFiles: Sendable {
    let directory: String

    var enrollmentTokenPath: String { "\(directory)/enrollment-token" }
    var administratorTokenPath: String { "\(directory)/administrator-token" }

    /// An older file is of an older collector: its tokens are void.
    func write(_ created: FirstStart) throws(StoreError) {
        let remedy = "Mend that, then start again."
        do throws(CommandError) {
            try OwnerFile(path: enrollmentTokenPath).replace(with: created.enrollmentToken + "\n", remedy: remedy)
            try OwnerFile(path: administratorTokenPath).replace(with: created.administratorToken + "\n", remedy: remedy)
        } catch { throw StoreError(.io, error.message) }
    }
}

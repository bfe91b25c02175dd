import CollectorStore
import CommandKit
import Foundation
import Glibc

/// A file for its owner alone (0600). It is there whole, on synced disk, or not at all.
struct OwnerFile {
    let path: String

    /// - Parameter remedy: what to do where it cannot be written.
    func replace(with text: String, remedy: String) throws(CommandError) {
        try write(text, remedy: remedy) { rename($0, path) == 0 }
    }

    /// Fails where the file is there already.
    func create(with text: String, remedy: String) throws(CommandError) {
        try write(text, remedy: remedy) { beside in
            guard link(beside, path) == 0 else { return false }
            unlink(beside)
            return true
        }
    }

    private func write(_ text: String, remedy: String, place: (String) -> Bool) throws(CommandError) {
        let beside = path + ".new"
        unlink(beside)
        let descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(beside, remedy) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0, place(beside) else {
            let error = failure(path, remedy)
            unlink(beside)
            throw error
        }
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw failure(directory, remedy) }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw failure(directory, remedy) }
    }

    private func failure(_ path: String, _ remedy: String) -> CommandError {
        CommandError(.failed, "\(path) cannot be written: \(String(cString: strerror(errno))). \(remedy)")
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

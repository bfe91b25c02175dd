import CollectorStore
import Foundation
import Glibc

/// The two files that the first start leaves in the data directory, each with one token and a newline, for the owner alone (0600).
struct FirstStartFiles {
    let directory: String

    var enrollmentTokenPath: String { "\(directory)/enrollment-token" }
    var administratorTokenPath: String { "\(directory)/administrator-token" }

    func write(_ created: FirstStart) throws(CommandError) {
        try write(created.enrollmentToken, to: enrollmentTokenPath)
        try write(created.administratorToken, to: administratorTokenPath)
    }

    /// Written beside and renamed, so that the file is there whole or not at all. An older file is of an older collector: its tokens are void.
    private func write(_ token: String, to path: String) throws(CommandError) {
        let beside = path + ".new"
        unlink(beside)
        let descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(beside) }
        defer { close(descriptor) }
        let bytes = Array((token + "\n").utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0, rename(beside, path) == 0 else {
            throw failure(path)
        }
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw failure(directory) }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw failure(directory) }
    }

    private func failure(_ path: String) -> CommandError {
        let reason = String(cString: strerror(errno))
        return CommandError(
            .failed,
            "\(path) cannot be written: \(reason). Mend that, then make tokens with `ws1collector token create --data \(directory)`.")
    }
}

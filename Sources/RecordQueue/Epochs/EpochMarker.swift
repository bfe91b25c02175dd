import WireModel

#if canImport(Glibc)
import Glibc

/// `queue.epoch`: the current epoch's id and ordinal, beside the queue's file, as two words of text.
///
/// It is written after the commit that begins the epoch. The file in the database is the truth; this is for the day on which that
/// cannot be read, or is gone: without the epoch's id nobody could be asked what it had stored.
struct EpochMarker: Equatable {
    var epoch: EpochID
    var ordinal: Int64

    init(epoch: EpochID, ordinal: Int64) {
        self.epoch = epoch
        self.ordinal = ordinal
    }

    /// `nil` where there is none, or it says nothing.
    init?(in directory: String) {
        let descriptor = open("\(directory)/\(QueueFile.markerName)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &bytes, bytes.count)
        let words = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let epoch = EpochID(String(words[0])), let ordinal = Int64(words[1]), ordinal > 0 else { return nil }
        self.init(epoch: epoch, ordinal: ordinal)
    }

    /// Replaces the file, whole and synced. It is small enough for a disk that is full: what is there already is written over.
    func write(to directory: String) throws(QueueError) {
        if EpochMarker(in: directory) == self { return }
        let path = "\(directory)/\(QueueFile.markerName)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("open", path, errno) }
        defer { close(descriptor) }
        let text = Array("\(epoch) \(ordinal)\n".utf8)
        guard pwrite(descriptor, text, text.count, 0) == text.count, ftruncate(descriptor, off_t(text.count)) == 0, fsync(descriptor) == 0
        else { throw Self.failure("write", path, errno) }
    }

    private static func failure(_ operation: String, _ path: String, _ systemError: Int32) -> QueueError {
        QueueError(
            systemError == ENOSPC || systemError == EDQUOT ? .diskFull : .io,
            "\(operation) \(path): \(String(cString: strerror(systemError))). Check the directory and its file system.")
    }
}
#endif

import FoundationEssentials
import SQLite
import WireModel

/// A file beside the queue of which the queue keeps a copy.
package enum CopiedFile: Int64, CaseIterable, Sendable {
    /// Who this device is.
    case identity = 1
    /// What the person whose device it is has said to being sampled.
    case consent = 2
}

/// Copies of small files, for the day on which a file is damaged or gone. The queue does not look into them.
extension RecordQueue {
    /// Largest copy: two certificates and their credentials have a few thousand bytes.
    package static let maximumCopyBytes = 64 << 10

    /// The copy as last kept; `nil`: there is none. Waits for the writer.
    package func copy(of file: CopiedFile) throws(QueueError) -> Data? {
        try writer.runWaiting { $0.state.copies[file]?.content }
    }

    /// Replaces the copy; on synced disk when this returns, and the former one is written over in the file. Frames of
    /// it may stay in the WAL until that is begun anew. Nothing is written where the copy is the same.
    /// - Throws: `.invalid` for more than `maximumCopyBytes`.
    package func keepCopy(_ content: Data, of file: CopiedFile) throws(QueueError) {
        guard content.count <= Self.maximumCopyBytes else {
            throw QueueError(
                .invalid,
                "a copy of the \(file) file of \(content.count) bytes; at most \(Self.maximumCopyBytes) are kept")
        }
        try writer.runWaiting { try $0.keepCopy(content, of: file) }
    }
}

extension QueueStore {
    func keepCopy(_ content: Data, of file: CopiedFile) throws {
        guard state.copies[file]?.content != content else { return }
        try connection.setPragma("secure_delete", to: 1)
        defer { try? connection.setPragma("secure_delete", to: 0) }
        try change { next in
            let sequence = (next.copies[file]?.sequence ?? 0) + 1
            next.copies[file] = QueueState.FileCopy(sequence: sequence, content: content)
        }
        // A damaged WAL must not bring back a credential or a decision that does not hold any more.
        checkpoint()
    }
}

import FoundationEssentials
import SQLite
import WireModel

/// A copy of the identity, for the day on which its own file is damaged or gone. The queue does not look into it.
extension RecordQueue {
    /// Largest copy: two certificates and their credentials have a few thousand bytes.
    package static let maximumIdentityBytes = 64 << 10

    /// The copy as last kept; `nil`: there is none. Waits for the writer.
    package func identityCopy() throws(QueueError) -> Data? {
        try writer.runWaiting { $0.state.identity?.content }
    }

    /// Replaces the copy; on synced disk when this returns, and the former one is written over in the file. Frames of
    /// it may stay in the WAL until that is begun anew. Nothing is written where the copy is the same.
    /// - Throws: `.invalid` for more than `maximumIdentityBytes`.
    package func keepIdentityCopy(_ content: Data) throws(QueueError) {
        guard content.count <= Self.maximumIdentityBytes else {
            throw QueueError(
                .invalid,
                "a copy of the identity of \(content.count) bytes; at most \(Self.maximumIdentityBytes) are kept")
        }
        try writer.runWaiting { try $0.keepIdentity(content) }
    }
}

extension QueueStore {
    func keepIdentity(_ content: Data) throws {
        guard state.identity?.content != content else { return }
        try connection.setPragma("secure_delete", to: 1)
        defer { try? connection.setPragma("secure_delete", to: 0) }
        try change { next in
            next.identity = QueueState.IdentityCopy(sequence: (next.identity?.sequence ?? 0) + 1, content: content)
        }
        // A damaged WAL must not bring back a credential that is of no use any more.
        checkpoint()
    }
}

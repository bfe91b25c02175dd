import Glibc
import SQLite
import TelemetryBasics
import Testing

@testable import RecordQueue

@Suite struct QueueErrorTests {
    @Test func `An interrupted call on a file is no failure of the storage`() {
        #expect(QueueError(FileError("syncing", "/data/queue.epoch", EINTR)).code == .interrupted)
        #expect(QueueError(FileError("syncing", "/data/queue.epoch", EIO)).code == .io)
    }

    @Test func `An interrupted commit is no failure of the storage`() {
        let error = SQLiteError(
            code: .interrupted, extendedResultCode: 1034, message: "commit failed.", operation: "commit")
        #expect(QueueError(error).code == .interrupted)
        #expect(QueueError(error).message == "commit failed.")
    }
}

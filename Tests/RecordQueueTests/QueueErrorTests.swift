import Glibc
import SQLite
import TelemetryBasics
import Testing

@testable import RecordQueue

@Suite struct QueueErrorTests {
    @Test func anInterruptedCallOnAFileIsNoFailureOfTheStorage() {
        #expect(QueueError(FileError("syncing", "/data/queue.epoch", EINTR)).code == .interrupted)
        #expect(QueueError(FileError("syncing", "/data/queue.epoch", EIO)).code == .io)
    }

    @Test func anInterruptedCommitIsNoFailureOfTheStorage() {
        let error = SQLiteError(
            code: .interrupted, extendedResultCode: 1034, message: "commit failed.", operation: "commit")
        #expect(QueueError(error).code == .interrupted)
        #expect(QueueError(error).message == "commit failed.")
    }
}

import SQLite
import Testing

@testable import RecordQueue

@Suite struct QueueErrorTests {
    @Test func anInterruptedCommitIsNoFailureOfTheStorage() {
        let error = SQLiteError(
            code: .interrupted, extendedResultCode: 1034, message: "commit failed.", operation: "commit")
        #expect(QueueError(error).code == .interrupted)
        #expect(QueueError(error).message == "commit failed.")
    }
}

import RecordQueue
import Testing

@testable import DataSampler

@Suite struct DataSamplerErrorTests {
    @Test func anInterruptedQueueHasItsOwnCode() {
        #expect(DataSamplerError(QueueError(.interrupted, "commit failed")).code == .queueInterrupted)
    }
}

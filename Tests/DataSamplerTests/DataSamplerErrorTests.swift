import Glibc
import LogStore
import RecordQueue
import TelemetryBasics
import Testing

@testable import DataSampler

@Suite struct DataSamplerErrorTests {
    @Test func `An interrupted queue has its own code`() {
        #expect(DataSamplerError(QueueError(.interrupted, "commit failed")).code == .queueInterrupted)
    }

    @Test(arguments: [ENOSPC, EDQUOT, EFBIG]) func `No room has one code wherever it is met`(systemError: Int32) {
        let error = FileError("writing", "/data/identity.new", systemError)
        #expect(DataSamplerError(error, otherwise: .identity).code == .queueFull)
        #expect(DataSamplerError(LogStoreError(error)).code == .queueFull)
        let other = FileError("writing", "/data/identity.new", EIO)
        #expect(DataSamplerError(other, otherwise: .identity).code == .identity)
        #expect(DataSamplerError(LogStoreError(other)).code == .storage)
    }
}

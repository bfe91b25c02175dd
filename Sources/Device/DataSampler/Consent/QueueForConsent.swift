import FoundationEssentials
import RecordQueue
import WireModel

/// The device's queue, as consent uses it.
struct QueueForConsent: ConsentQueue {
    let queue: RecordQueue

    func keepApart(_ record: NewRecord) async throws(DataSamplerError) {
        do { try await queue.enqueueApart(record, account: .consent) } catch { throw DataSamplerError(error) }
    }

    func releaseKept() async throws(DataSamplerError) -> Int {
        do { return try await queue.releaseApart(.consent) } catch { throw DataSamplerError(error) }
    }

    func deleteKept() async throws(DataSamplerError) {
        do { _ = try await queue.dropApart(.consent, reason: .consent) } catch { throw DataSamplerError(error) }
    }

    func deleteWaiting() async throws(DataSamplerError) {
        do {
            // What is still in the writer's memory waits, too.
            try await queue.flush()
            for stream in StreamName.allCases where stream != .status {
                _ = try await queue.drop(oldest: .max, of: stream, reason: .consent, keepAside: false)
            }
        } catch { throw DataSamplerError(error) }
    }

    func countRefused(_ stream: StreamName) { queue.countDropped(.consent, of: stream) }

    func consentCopy() throws(DataSamplerError) -> Data? {
        do throws(QueueError) { return try queue.copy(of: .consent) } catch { throw DataSamplerError(error) }
    }

    func keepConsentCopy(_ content: Data) throws(DataSamplerError) {
        do throws(QueueError) { try queue.keepCopy(content, of: .consent) } catch { throw DataSamplerError(error) }
    }
}

import RecordStore
import WireModel

extension RecordStore {
    /// One part's answer.
    package func append(_ part: BatchPart, from device: DeviceID) async -> PartAnswer {
        await append([part], from: device, receivedAt: ManualStoreClock.start)[0]
    }

    /// Sends all a device holds and lets it apply the answer.
    @discardableResult
    package func drain(_ device: inout ScriptedDevice, parts size: Int = .max) async throws -> PartAnswer? {
        var last: PartAnswer?
        while let part = device.part(size) {
            let answer = await append(part, from: device.device)
            last = answer
            guard device.apply(answer) == .remove else { break }
        }
        return last
    }

    package func allRecords(of device: DeviceID, stream: StreamName, pageSize: Int = 7) async throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        var cursor: String?
        repeat {
            let page = try await records(
                of: device, stream: stream, kind: nil, module: nil, before: cursor, limit: pageSize)
            found += page.records
            cursor = page.next
        } while cursor != nil
        return found
    }
}

import ClickHouse
import ClusterStore
import Foundation
import RecordStore
import WireModel

/// The writes of a collector without marks, claims and answers: the records of each part, packed, in a row, one insert
/// after the other.
struct ClickHouseAlone {
    let configuration: ClusterRecordStore.Configuration
    /// The number of parts as the collector had them, so that both pay for as many inserts.
    let partsPerInsert: Int

    /// - Returns: records a second.
    func measure(records: Int, recordsPerPart: Int) async throws -> Double {
        let client = try ClickHouseClient(configuration.clickHouse, logger: RunningCluster.logger)
        let settings = ClickHouseInsertSettings(quorum: configuration.quorum, engine: try await client.engineVersion())
        let parts = SampleChain.parts(records: records, recordsPerPart: recordsPerPart)
        let today = UInt16(SystemStoreClock().now() / 86_400_000_000)
        let seconds = try await Stopwatch.seconds {
            var rest = parts[...]
            while !rest.isEmpty {
                var rows = RowBinaryWriter()
                for part in rest.prefix(partsPerInsert) {
                    let (device, epoch) = (DeviceID.random(), part.epoch)
                    rows.date(today)
                    for number in [device.high, device.low, epoch.high, epoch.low, part.first - 1] {
                        rows.uint64(number)
                    }
                    rows.uint64(UInt64(part.records.count))
                    var packed = Data()
                    for record in part.records { packed.append(record) }
                    rows.string(packed)
                    rows.rowEnded()
                }
                rest = rest.dropFirst(partsPerInsert)
                // No device sends this stream here, so nobody reads these rows.
                let outcome = await client.insert(
                    into: "slice_status",
                    columns: ["day", "device", "epoch", "key", "record_count", "records"], rows: rows,
                    settings: settings.values)
                guard case .stored = outcome else { throw BenchmarkError("\(outcome)") }
            }
        }
        await client.shutDown()
        return Double(records) / seconds
    }
}

extension ClusterRecordStore.Configuration {
    private static let mergeLimit = Duration.seconds(300)

    /// Waits until no replica merges parts of the store's tables. What was written before would slow what is measured
    /// next.
    func waitForMerges() async throws {
        let client = try ClickHouseClient(clickHouse, logger: RunningCluster.logger)
        let end = ContinuousClock.now + Self.mergeLimit
        var quiet = 0
        do {
            while quiet < 5 {
                guard ContinuousClock.now < end else { throw BenchmarkError("the replicas go on merging") }
                var merges: UInt64 = 0
                for replica in client.replicas {
                    var rows = try await client.query(
                        "SELECT toUInt64(count()) FROM system.merges WHERE database = currentDatabase()", settings: [:],
                        on: replica)
                    merges += rows.next() ? try rows.uint64() : 0
                }
                quiet = merges == 0 ? quiet + 1 : 0
                try await Task.sleep(for: .milliseconds(200))
            }
            await client.shutDown()
        } catch {
            await client.shutDown()
            throw error
        }
    }
}

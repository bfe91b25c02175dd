import CollectorMaintenance
import RecordStore
import SQLiteRecordStore
import StoreTestKit
import TestKit
import WireModel

extension SQLiteRecordStore {
    package static func open(
        _ directory: TemporaryDirectory, clock: ManualStoreClock = ManualStoreClock(),
        configuration: Configuration = Configuration()
    ) throws -> SQLiteRecordStore {
        try open(directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
    }
}

extension SQLiteRecordStore {
    /// Packs every day but the newest of each stream.
    package func packAll() async throws {
        for partition in try partitions(before: UTCDay(number: .max)) {
            while try await pack(partition) == .more {}
        }
    }
}

extension TemporaryDirectory {
    /// Proves that a collector's data in it are whole.
    package func verify() async throws -> VerifyReport { try await StoreVerifier(directory: path).verify() }
}

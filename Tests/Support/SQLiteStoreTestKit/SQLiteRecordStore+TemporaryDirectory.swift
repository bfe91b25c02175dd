import CollectorMaintenance
import RecordStore
import SQLiteRecordStore
import StoreTestKit
import TestKit

extension SQLiteRecordStore {
    package static func open(
        _ directory: TemporaryDirectory, clock: ManualStoreClock = ManualStoreClock(),
        configuration: Configuration = Configuration()
    ) throws -> SQLiteRecordStore {
        try open(directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
    }
}

extension TemporaryDirectory {
    /// Proves that a collector's data in it are whole.
    package func verify() async throws -> VerifyReport { try await StoreVerifier(directory: path).verify() }
}

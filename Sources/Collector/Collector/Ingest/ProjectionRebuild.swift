import RecordStore
import Registry
import WireModel

/// Derives again from stored records what the registry says of each device's latest state: when it was last seen,
/// its beacon, verdicts, identity, push token and schedule.
///
/// Incidents neither begin nor end with it, and no command is issued: earlier verdicts are only read once more.
///
/// What only removed records could show stays as it is: there it is the baseline. So does the profile revision, which a
/// device reports with every batch and no record. Bounded in memory by the number of devices.
package struct ProjectionRebuild {
    package struct Report: Equatable, Sendable {
        package var devices = 0
        package var records = 0
        /// Names of damaged record files that were skipped.
        package var unreadableFiles: [String] = []
    }

    private let store: any RecordStore
    private let metadata: MetadataService

    /// Devices whose state is collected before it is written.
    private static let gatheredDevices = 4096
    /// The longest time from the arrival of a request until its device counts as seen.
    private static let marginMicroseconds: Int64 = 60_000_000

    /// - Parameter metadata: opened exclusively, so that older states cannot overwrite those that a running collector
    ///   receives.
    package init(of store: any RecordStore, metadata: MetadataService) {
        self.store = store
        self.metadata = metadata
    }

    /// Rebuilds from everything that is stored.
    package func run() async throws -> Report { try await derive(resets: true) }

    /// Rebuilds from what came after the state was last written. A killed process had not written the last seconds.
    package func catchUp() async throws -> Report {
        guard let time = try await metadata.newestSight() else { return Report() }
        return try await derive(since: time - Self.marginMicroseconds, resets: false)
    }

    private func derive(since: Int64? = nil, resets: Bool) async throws -> Report {
        var report = Report()
        var sights: [DeviceID: DeviceObservation] = [:]
        var known: Set<DeviceID> = []
        let devices = Set(try MetadataSnapshot(metadata.registry).owners().keys)
        for stream in StreamName.allCases {
            let query = RecordQuery(.among(devices), stream: stream, receivedSince: since)
            try await store.forEachPage(of: query) { records in
                report.records += records.count
                for record in records {
                    let sight = DeviceObservation(record)
                    if sights[record.device]?.merge(sight) == nil { sights[record.device] = sight }
                }
                if sights.count >= Self.gatheredDevices { try await write(&sights, &known, resets: resets) }
            }
            report.unreadableFiles += store.unreadableFiles(of: stream)
        }
        try await write(&sights, &known, resets: resets)
        report.devices = known.count
        return report
    }

    private func write(_ sights: inout [DeviceID: DeviceObservation], _ known: inout Set<DeviceID>, resets: Bool)
        async throws
    {
        let new = Set(sights.keys).subtracting(known)
        try await metadata.derive(sights, resetting: resets ? new : [], isNews: !resets)
        known.formUnion(new)
        sights = [:]
    }
}

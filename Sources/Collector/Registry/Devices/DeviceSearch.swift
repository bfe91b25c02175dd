import RecordStore
import Synchronization
import TelemetryBasics
import WireModel

/// Lists of devices: filtered, searched and sorted in memory, with a connection and queue of their own.
///
/// The writer does not wait for a list. It only records which devices changed, and the next list reads those rows again
/// before it answers. So a list shows every change whose call has returned. Rows are read at the time of the list, not
/// of the change, so the order in which changes are recorded does not matter.
actor DeviceSearch {
    private let connection: any RegistrySession
    private let lease: RegistryLease
    /// Made when devices are first listed.
    private var index: DeviceIndex?
    private nonisolated let changes = DeviceChanges()
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.metadata.devices")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ registry: any Registry, lease: RegistryLease) throws(StoreError) {
        connection = try registry.openReading()
        self.lease = lease
    }

    /// The device's row was changed, added or removed, and that is committed.
    nonisolated func recordChange(_ device: DeviceID) { changes.record(device, .row) }

    /// Records a change of what newer records report about the device, once it is committed.
    nonisolated func recordChange(_ device: DeviceID, _ sight: DeviceObservation) {
        changes.record(device, .seen(sight))
    }

    /// Any row may have changed.
    nonisolated func recordUnknownChanges() { changes.forget() }

    func page(
        _ query: DeviceQuery, after position: DevicePosition?, limit: Int, at now: Int64
    ) throws(StoreError) -> DeviceList {
        let found = try currentIndex().page(query, after: position, limit: limit, at: now)
        return try connection.reading { () throws(StoreError) in
            var devices: [DeviceRow] = []
            for id in found.ids { if let device = try DeviceRow.one(id, in: connection) { devices.append(device) } }
            return DeviceList(devices: devices, total: found.total, next: found.next)
        }
    }

    func facets(_ query: DeviceQuery, at now: Int64) throws(StoreError) -> DeviceFacets {
        try currentIndex().facets(query, at: now)
    }

    func selection(_ query: DeviceQuery, at now: Int64) throws(StoreError) -> DeviceSelection {
        try currentIndex().selection(query, at: now)
    }

    func selection(of devices: Set<DeviceID>, organization: String?) throws(StoreError) -> DeviceSelection {
        try currentIndex().selection(of: devices, organization: organization)
    }

    func owners() throws(StoreError) -> [DeviceOwner] { try currentIndex().owners }

    func adoption(organization: String, withTest: Bool) throws(StoreError) -> [ProfileAdoption] {
        try currentIndex().adoption(organization: organization, withTest: withTest)
    }

    func consequenceGroups(organization: String) throws(StoreError) -> [ConsequenceGroup: Int] {
        try currentIndex().consequenceGroups(organization: organization)
    }

    func close() {
        index = nil
        try? connection.close()
    }

    /// The index with every recorded change. If a row cannot be read, the next list makes the index again. Without a
    /// lease each list does, because changes of other collectors may not have been recorded.
    private func currentIndex() throws(StoreError) -> DeviceIndex {
        try connection.requireInPlace()
        if !lease.isValid { index = nil }
        let recorded = changes.drain()
        do throws(StoreError) {
            if let index, let recorded {
                if recorded.isEmpty { return index }
                try connection.reading { () throws(StoreError) in
                    for (id, change) in recorded {
                        if case .seen(let sight) = change, index.record(sight, of: id) { continue }
                        if let device = try DeviceRow.one(id, in: connection) {
                            index.insert(device)
                        } else {
                            index.remove(id)
                        }
                    }
                }
                return index
            }
            let loaded = try connection.reading { () throws(StoreError) in
                let loaded = DeviceIndex()
                try DeviceRow.all(in: connection) { loaded.insert($0) }
                return loaded
            }
            index = loaded
            return loaded
        } catch {
            index = nil
            throw error
        }
    }
}

/// Devices that changed since the last list. Limited: after more changes the list is made again.
private final class DeviceChanges: Sendable {
    enum Change {
        /// The row must be read again.
        case row
        case seen(DeviceObservation)
    }

    /// `nil` before the first list, or after too many changes.
    private let recorded = Mutex<[DeviceID: Change]?>(nil)
    private static let limit = 65_536

    func record(_ device: DeviceID, _ change: Change) {
        recorded.withLock { recorded in
            guard let count = recorded?.count else { return }
            guard count < Self.limit else { return recorded = nil }
            if case .seen(var former) = recorded?[device], case .seen(let later) = change {
                former.merge(later)
                recorded?[device] = .seen(former)
            } else if case .row = recorded?[device] {
                return
            } else {
                recorded?[device] = change
            }
        }
    }

    func forget() { recorded.withLock { $0 = nil } }

    /// - Returns: `nil` if it is unknown what changed. From now on changes are recorded.
    func drain() -> [DeviceID: Change]? {
        recorded.withLock { recorded in
            defer { recorded = [:] }
            return recorded
        }
    }
}

import CollectorTunables
import RecordStore
import Registry
import WireModel

/// What the registry says of the devices whose records are forwarded, read again now and then.
///
/// A record is read from the store first and its device looked up then. A device has its row before it can send, so no
/// record of a new one is passed over.
actor ForwardDevices {
    private let metadata: MetadataService
    private var rows: [DeviceID: (row: DeviceRow, readAt: ContinuousClock.Instant)] = [:]

    init(_ metadata: MetadataService) { self.metadata = metadata }

    /// - Returns: those that the registry has. Records of others are of deleted devices.
    func rows(of devices: Set<DeviceID>) async throws(StoreError) -> [DeviceID: DeviceRow] {
        let now = ContinuousClock.now
        var found: [DeviceID: DeviceRow] = [:]
        var unknown: Set<DeviceID> = []
        for device in devices {
            if let known = rows[device], now - known.readAt <= Tunables.Forwarding.deviceAge {
                found[device] = known.row
            } else {
                unknown.insert(device)
            }
        }
        guard !unknown.isEmpty else { return found }
        let read = try await metadata.rows(of: unknown)
        if rows.count + read.count > Tunables.Forwarding.devices { rows.removeAll(keepingCapacity: true) }
        for (device, row) in read { rows[device] = (row, now) }
        return found.merging(read) { _, new in new }
    }
}

import WireModel

/// How often the audit trail is told of what one device does. Pure; in memory, since no device can start a collector again.
///
/// Of one device and action an entry an hour; what comes meanwhile is counted, and told with the next. So one device has at most 24 entries a
/// day of an action, and would need months to push other devices' entries out of the 20,000 that are kept of them; a whole fleet that enrolls at
/// once is told of one by one. What people do is kept apart (`AuditTable`).
struct DeviceAuditLimit {
    static let intervalMicroseconds: Int64 = 3_600_000_000
    /// Devices and actions that are remembered; those of an hour that is full of more are not told.
    static let maximum = 16_384

    private struct Key: Hashable {
        var device: DeviceID
        var action: AuditEntry.Action
    }

    private struct Told {
        var at: Int64
        var leftOut = 0

        /// A clock that was set back does not keep anybody waiting.
        func isRecent(at now: Int64) -> Bool { (0..<DeviceAuditLimit.intervalMicroseconds).contains(now - at) }
    }

    private var told: [Key: Told] = [:]

    /// - Returns: how often the same was left out since it was last told; `nil`: it is not to be told.
    mutating func admit(_ action: AuditEntry.Action, of device: DeviceID, at now: Int64) -> Int? {
        let key = Key(device: device, action: action)
        if let former = told[key] {
            if former.isRecent(at: now) {
                told[key]?.leftOut += 1
                return nil
            }
            told[key] = Told(at: now)
            return former.leftOut
        }
        if told.count >= Self.maximum { told = told.filter { $0.value.isRecent(at: now) } }
        guard told.count < Self.maximum else { return nil }
        told[key] = Told(at: now)
        return 0
    }
}

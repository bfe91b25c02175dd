import WireModel

/// Limits of the bytes of records that a device and an organization may store in a day of the UTC calendar.
///
/// Without them one device fills the disk of all. A device that is over a limit gets 429 before its body is read, and
/// keeps its records.
package struct RecordQuotas: Equatable, Sendable {
    /// Bytes of one device. More than a sample every second makes, and many times a full queue of 64 MiB.
    package var deviceBytes = 1_000_000_000
    /// Bytes of all devices of an organization; `nil` for as many as 1,000 devices may store.
    package var organizationBytes: Int?
    /// Epochs that one device may name. What the collector knows of an epoch stays for ever, so that none is accepted
    /// anew. A device whose histories diverge all the time begins some 30 a day.
    package var deviceEpochs = 100
    /// Devices that one token for OTLP may make. Marks of a device stay for ever, and many programs say another
    /// `service.instance.id` at each start. A chain of collectors needs one for each program of each device.
    package var otlpDevices = 1000

    package init() {}

    package func bytes(of owner: RecordOwner) -> Int {
        owner.device == nil ? organizationBytes ?? 1000 * deviceBytes : deviceBytes
    }
}

/// Who has a quota of records: a device, or its organization.
package struct RecordOwner: Hashable, Sendable {
    package var organization: String
    /// `nil` for the organization as a whole.
    package var device: DeviceID?

    /// The subject of notices about the quota.
    package var subject: String { device?.description ?? "all devices" }
}

/// A quota that is used up.
package struct RecordQuotaRefusal: Equatable, Sendable {
    /// Whether it is the device's own, and not that of its organization.
    package var isOfDevice: Bool
    package var bytes: Int
    package var quota: Int
    /// When the device should ask again, in microseconds. Not before tomorrow, unless the quota is raised.
    package var wait: Int64

    /// A raised quota is noticed after this time.
    static let longestWait: Int64 = 900_000_000
}

/// A device names more epochs than it may in a day.
package struct EpochRefusal: Equatable, Sendable {
    package var limit: Int
    /// The wait, as of a quota.
    package var wait: Int64
    /// Whether it is the first one of the day.
    package var isFirst: Bool
}

extension BatchPart {
    /// The bytes of a stored part that count against a quota: its records, and about what the store keeps beside them.
    package var quotaBytes: Int { records.reduce(256 + 48 * gaps.count) { $0 + $1.count } }
}

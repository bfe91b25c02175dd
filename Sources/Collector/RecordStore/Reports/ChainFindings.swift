import WireModel

/// The findings of following every chain through the numbers of its stored rows.
package struct ChainFindings: Equatable, Sendable {
    /// The faults by partition and chain; limited.
    package var faults: [ChainFault] = []
    /// Faults beyond the limit.
    package var furtherFaults = 0
    /// Partitions that were followed to their end.
    package var partitions = 0
    /// Names of partitions that cannot be read, and were passed over.
    package var unreadableFiles: [String] = []

    package init() {}
}

/// Numbers of a chain that its rows in one partition do not have once.
package struct ChainFault: Equatable, Sendable, Codable {
    package var device: String
    package var epoch: String
    package var stream: StreamName
    /// The partition's name.
    package var file: String
    /// Numbers that the mark covers and no row has.
    package var missing: UInt64
    /// Numbers that rows have twice, or above the mark.
    package var doubled: UInt64

    package init(device: String, epoch: String, stream: StreamName, file: String, missing: UInt64, doubled: UInt64) {
        self.device = device
        self.epoch = epoch
        self.stream = stream
        self.file = file
        self.missing = missing
        self.doubled = doubled
    }
}

import WireModel

/// The report of what `verify` has examined and found.
package struct VerifyReport: Equatable, Sendable, Codable {
    package var files = 0
    package var chains = 0
    package var slices = 0
    package var records: UInt64 = 0
    package var recordBytes: UInt64 = 0
    package var rejected: UInt64 = 0
    package var lostAtCollector: UInt64 = 0
    /// The chunks of logs.
    package var chunks = 0
    package var chunkBytes: UInt64 = 0
    package var findings: [Finding] = []
    /// Findings beyond the limit, counted and not listed.
    package var furtherFindings = 0

    /// Nothing was found wrong.
    package var isWhole: Bool { findingCount == 0 }

    package var findingCount: Int { findings.count + furtherFindings }

    private static let limit = 1000

    package init() {}

    package mutating func add(_ finding: Finding) {
        if findings.count < Self.limit { findings.append(finding) } else { furtherFindings += 1 }
    }

    /// Records what was found in a partition.
    package mutating func add(
        _ code: Finding.Code, _ partition: Partition, _ message: String, chain: ChainKey? = nil, first: UInt64? = nil,
        last: UInt64? = nil
    ) {
        add(
            Finding(
                code: code, file: partition.name, device: chain?.device.description, epoch: chain?.epoch.description,
                stream: "\(partition.stream)", first: first, last: last, message: message))
    }

    package struct Finding: Equatable, Sendable, Codable {
        package enum Code: String, Sendable, Codable {
            /// The file cannot be opened, or SQLite's check or a row says it contradicts itself.
            case unreadable
            /// Stored bytes are not those that were accepted.
            case altered
            /// Numbers that were accepted are not there.
            case missing
            /// Numbers are there twice.
            case doubled
            /// Counts and rows differ.
            case miscounted
        }

        package var code: Code
        /// Relative to the data directory.
        package var file: String
        package var device: String?
        package var epoch: String?
        package var stream: String?
        /// The numbers concerned, if any.
        package var first: UInt64?
        package var last: UInt64?
        /// The text: what it means.
        package var message: String

        package init(
            code: Code, file: String, device: String? = nil, epoch: String? = nil, stream: String? = nil,
            first: UInt64? = nil, last: UInt64? = nil, message: String
        ) {
            self.code = code
            self.file = file
            self.device = device
            self.epoch = epoch
            self.stream = stream
            self.first = first
            self.last = last
            self.message = message
        }
    }
}

/// The balance of the fleet, and the result of the last verification.
package struct FleetBalanceView: Codable, Sendable {
    package struct Balance: Codable, Sendable {
        package struct Fault: Codable, Sendable {
            package var device = ""
            package var reasons: [String] = []
            package var lostAtCollector: UInt64 = 0
            package var missing: UInt64 = 0
            package var doubled: UInt64 = 0

            package init() {}
        }

        package var startedAt = ""
        package var completedAt = ""
        /// Nothing is lost, doubled or contradictory, and every record file was read.
        package var intact = false
        package var devices = 0
        package var devicesWaiting = 0
        package var streams = 0
        package var streamsLeftOut = 0
        package var files: Int?
        package var produced: UInt64 = 0
        package var stored: UInt64 = 0
        /// The rejected records by reason.
        package var rejected: [String: UInt64] = [:]
        package var dropped: [String: UInt64] = [:]
        package var waiting: UInt64 = 0
        package var lost: UInt64 = 0
        package var lostAtCollector: UInt64 = 0
        package var missing: UInt64 = 0
        package var doubled: UInt64 = 0
        package var devicesWithFaults = 0
        package var faults: [Fault] = []
        /// Absent if there are none.
        package var unreadableFiles: [String]?

        package init() {}
    }

    /// The result of the last `ws1collector verify`.
    package struct Verification: Codable, Sendable {
        package struct Scope: Codable, Sendable {
            package var files = 0
            package var chains = 0
            package var records: UInt64 = 0
            package var recordBytes: UInt64 = 0
            package var rejected: UInt64 = 0
            package var lostAtCollector: UInt64 = 0
            package var chunks = 0
            package var chunkBytes: UInt64 = 0

            package init() {}
        }

        /// What is wrong with stored data (`ws1collector verify`).
        package struct Finding: Codable, Sendable {
            package var code = ""
            /// Relative to the data directory.
            package var file = ""
            package var device: String?
            package var epoch: String?
            package var stream: String?
            /// The numbers concerned, if any.
            package var first: UInt64?
            package var last: UInt64?
            package var message = ""

            package init() {}
        }

        package var startedAt = ""
        package var completedAt = ""
        /// Nothing was found wrong in what the person may see.
        package var intact = false
        /// Only for people of all organizations.
        package var scope: Scope?
        package var findingCount = 0
        package var findings: [Finding] = []

        package init() {}
    }

    /// unknown until a pass over all devices has ended since the collector started, then known.
    package var state = "unknown"
    package var running = false
    /// Absent: all organizations.
    package var organization: String?
    /// Absent while it is unknown.
    package var balance: Balance?
    /// `null` if the stored data were never verified here.
    package var verification: Verification?

    private enum Key: CodingKey { case state, running, organization, balance, verification }

    package init() {}

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(state, forKey: .state)
        try container.encode(running, forKey: .running)
        try container.encodeIfPresent(organization, forKey: .organization)
        try container.encodeIfPresent(balance, forKey: .balance)
        try container.encode(verification, forKey: .verification)
    }
}

extension APIOperation where Answer == FleetBalanceView {
    package static var getFleetBalance: Self { Self("GET", "/api/v1/balance") }
    package static var renewFleetBalance: Self { Self("POST", "/api/v1/balance") }
}

extension APIOperation where Answer == BalanceReport {
    package static func getBalance(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/balance")
    }
}

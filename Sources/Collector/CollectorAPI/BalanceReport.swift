/// The balance as people and scripts see it, from the API and from `ws1collector balance --json`.
///
/// Part of a balance is reported by the device: how much it produced, what waits, what it dropped. A device may report
/// something impossible. That is a finding about this device, and its stream does not close. The sums cover the other
/// streams, so one device cannot spoil them.
package struct BalanceReport: Codable, Equatable, Sendable {
    /// One stream of one epoch of a device.
    package struct Stream: Codable, Equatable, Sendable {
        package var device = ""
        package var epoch = ""
        package var stream = ""
        package var produced: UInt64 = 0
        package var stored: UInt64 = 0
        /// The rejected records by reason.
        package var rejected: [String: UInt64] = [:]
        /// The dropped records by reason.
        package var dropped: [String: UInt64] = [:]
        package var lostAtCollector: UInt64 = 0
        package var waiting: UInt64 = 0
        /// Whether the epoch is closed.
        package var closed = false
        package var closes = false

        package init() {}
    }

    /// Why a stream does not close.
    package struct Finding: Codable, Equatable, Sendable {
        package enum Code: String, Codable, Sendable {
            /// The stored records add up, but the device's figures do not.
            case deviceClaims = "device-claims"
            /// The stored records do not add up to the mark.
            case storedRecords = "stored-records"
        }

        package var code: Code
        package var device: String
        package var epoch: String
        package var stream: String
        package var message: String

        package init(_ code: Code, device: String, epoch: String, stream: String, message: String) {
            self.code = code
            self.device = device
            self.epoch = epoch
            self.stream = stream
            self.message = message
        }
    }

    /// Sums over the streams that close. They saturate.
    package struct Totals: Codable, Equatable, Sendable {
        package var streams = 0
        /// Streams left out of the sums because they do not close.
        package var leftOut = 0
        package var produced: UInt64 = 0
        package var stored: UInt64 = 0
        package var rejected: UInt64 = 0
        package var dropped: UInt64 = 0
        package var lostAtCollector: UInt64 = 0
        package var waiting: UInt64 = 0

        /// Names that differ from a stream's, so a search for streams in the document does not find the sums.
        private enum CodingKeys: String, CodingKey {
            case streams, leftOut
            case produced = "recordsProduced"
            case stored = "recordsStored"
            case rejected = "recordsRejected"
            case dropped = "recordsDropped"
            case lostAtCollector = "recordsLostAtCollector"
            case waiting = "recordsWaiting"
        }

        package init() {}
    }

    package var streams: [Stream] = []
    package var totals = Totals()
    package var findings: [Finding] = []
    /// Whether all of them close. For a fleet, streams whose device reports something impossible are left out.
    package var closes = false
    /// The cursor of the next epochs of the device; `nil` if these were the last. Sums and findings are of all epochs.
    package var next: String?
    /// Damaged record files whose records are not counted; `nil` for none.
    package var missing: [String]?

    package init() {}
}

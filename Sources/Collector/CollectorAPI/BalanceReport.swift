/// The balance as people and scripts see it, the same from the API and from `ws1collector balance --json`.
///
/// Part of a balance is the device's word: how much it has produced, what waits, what it dropped. A device may say what
/// cannot be. That is a finding about this device, and its stream does not close. The sums are of the other streams, so
/// that one device cannot spoil them.
package struct BalanceReport: Codable, Equatable, Sendable {
    /// One stream of one epoch of a device.
    package struct Stream: Codable, Equatable, Sendable {
        package var device = ""
        package var epoch = ""
        package var stream = ""
        package var produced: UInt64 = 0
        package var stored: UInt64 = 0
        /// By reason.
        package var rejected: [String: UInt64] = [:]
        /// By reason.
        package var dropped: [String: UInt64] = [:]
        package var lostAtCollector: UInt64 = 0
        package var waiting: UInt64 = 0
        /// Whether the epoch was closed for good.
        package var closed = false
        package var closes = false

        package init() {}
    }

    /// Why a stream does not close.
    package struct Finding: Codable, Equatable, Sendable {
        package enum Code: String, Codable, Sendable {
            /// What is stored here adds up, what the device says of itself does not.
            case deviceClaims = "device-claims"
            /// What is stored here does not add up to the mark.
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

    /// Over the streams that close. Sums stop at the greatest number there is.
    package struct Totals: Codable, Equatable, Sendable {
        package var streams = 0
        /// Streams that are not in the sums, because they do not close.
        package var leftOut = 0
        package var produced: UInt64 = 0
        package var stored: UInt64 = 0
        package var rejected: UInt64 = 0
        package var dropped: UInt64 = 0
        package var lostAtCollector: UInt64 = 0
        package var waiting: UInt64 = 0

        /// Other names than a stream's: who looks for streams anywhere in the document must not take the sums for one.
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
    /// Whether all of them close; of a fleet, but for those whose device says what cannot be.
    package var closes = false
    /// Record files that are damaged, whose records are not counted; `nil`: none.
    package var missing: [String]?

    package init() {}
}

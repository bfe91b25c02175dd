import CollectorStore
import WireModel

/// The balance as people and scripts see it, the same from the API and from `ws1collector balance --json`.
package struct BalanceReport: Encodable, Equatable, Sendable {
    /// One stream of one epoch of a device.
    package struct Stream: Encodable, Equatable, Sendable {
        package var device: String
        package var epoch: String
        package var stream: String
        package var produced: UInt64
        package var stored: UInt64
        /// By reason.
        package var rejected: [String: UInt64]
        /// By reason.
        package var dropped: [String: UInt64]
        package var lostAtCollector: UInt64
        package var waiting: UInt64
        /// Whether the epoch was closed for good.
        package var closed: Bool
        package var closes: Bool
    }

    package var streams: [Stream]
    /// Whether all of them close.
    package var closes: Bool

    package init(_ devices: [(device: DeviceID, epochs: [EpochBalance])]) {
        streams = devices.flatMap { device, epochs in
            epochs.map { entry in
                Stream(
                    device: device.description, epoch: entry.epoch.description, stream: entry.stream.description,
                    produced: entry.balance.produced, stored: entry.balance.stored, rejected: entry.balance.rejected,
                    dropped: entry.balance.dropped, lostAtCollector: entry.balance.lostAtCollector, waiting: entry.balance.waiting,
                    closed: entry.closed, closes: entry.balance.closes)
            }
        }
        closes = streams.allSatisfy(\.closes)
    }
}

import CollectorStore
import WireModel

/// The balance as people and scripts see it, the same from the API and from `ws1collector balance --json`.
///
/// Part of a balance is the device's word: how much it has produced, what waits, what it dropped. A device may say what
/// cannot be. That is a finding about this device, and its stream does not close. The sums are of the other streams, so
/// that one device cannot spoil them.
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

    /// Why a stream does not close.
    package struct Finding: Encodable, Equatable, Sendable {
        package enum Code: String, Encodable, Sendable {
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
    }

    /// Over the streams that close. Sums stop at the greatest number there is.
    package struct Totals: Encodable, Equatable, Sendable {
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

        mutating func add(_ stream: Stream) {
            guard stream.closes else { return leftOut += 1 }
            streams += 1
            produced.addSaturating(stream.produced)
            stored.addSaturating(stream.stored)
            rejected.addSaturating(stream.rejected.values.saturatingSum)
            dropped.addSaturating(stream.dropped.values.saturatingSum)
            lostAtCollector.addSaturating(stream.lostAtCollector)
            waiting.addSaturating(stream.waiting)
        }
    }

    package var streams: [Stream]
    package var totals: Totals
    package var findings: [Finding]
    /// Whether all of them close; of a fleet, but for those whose device says what cannot be.
    package var closes: Bool
    /// Record files that are damaged, whose records are not counted; `nil`: none.
    package var missing: [String]?

    /// - Parameters:
    ///   - isFleet: whether it is of all devices, of which none may make it fail for the others.
    ///   - missing: record files that could not be read, by name.
    package init(
        _ devices: [(device: DeviceID, epochs: [EpochBalance])], isFleet: Bool = false, missing: [String] = []
    ) {
        self.missing = missing.isEmpty ? nil : missing
        streams = devices.flatMap { device, epochs in
            epochs.map { entry in
                Stream(
                    device: device.description, epoch: entry.epoch.description, stream: entry.stream.description,
                    produced: entry.balance.produced, stored: entry.balance.stored, rejected: entry.balance.rejected,
                    dropped: entry.balance.dropped, lostAtCollector: entry.balance.lostAtCollector,
                    waiting: entry.balance.waiting,
                    closed: entry.closed, closes: entry.balance.closes)
            }
        }
        totals = streams.reduce(into: Totals()) { $0.add($1) }
        findings = devices.flatMap { device, epochs in
            epochs.filter { !$0.balance.closes }.map { Finding($0, of: device) }
        }
        closes = isFleet ? findings.allSatisfy { $0.code == .deviceClaims } : findings.isEmpty
    }
}

extension BalanceReport.Finding {
    fileprivate init(_ entry: EpochBalance, of device: DeviceID) {
        code = entry.storedAddsUp ? .deviceClaims : .storedRecords
        self.device = device.description
        epoch = entry.epoch.description
        stream = entry.stream.description
        message =
            switch code {
            case .deviceClaims:
                "The device says that it has produced \(entry.totals.produced) records, of which \(entry.totals.waiting) "
                    + "wait and \(entry.totals.dropped.values.saturatingSum) were dropped; the mark is at "
                    + "\(entry.mark.number). That cannot be."
            case .storedRecords:
                "\(entry.storedRows) records are stored, \(entry.mark.rejectedCount) were rejected, "
                    + "\(entry.mark.droppedCount) dropped, "
                    + "\(entry.mark.lostAtCollector) lost; the mark is at \(entry.mark.number). "
                    + "`ws1collector verify` looks at what is stored."
            }
    }
}

extension EpochBalance {
    /// Whether rows and counts of this collector make up the mark, whatever the device says.
    fileprivate var storedAddsUp: Bool {
        var counted = mark
        counted.stored = storedRows
        return counted.addsUp
    }
}

import RecordStore
import WireModel

/// The sum of many devices' balances. Pure.
///
/// It goes by the marks: what a mark counts as stored is stored. Beside that stands what the rows contradict: numbers
/// that they lack (`missing`) or have twice (`doubled`).
struct FleetBalance: Equatable, Sendable {
    /// The most devices with a fault that are listed one by one.
    static let maximumFaults = 100

    /// A device of which something is lost, doubled or contradictory.
    struct Fault: Equatable, Sendable {
        enum Reason: String, Sendable, CaseIterable {
            /// A collector acknowledged records and no longer has them.
            case lostAtCollector = "lost-at-collector"
            case missing
            case doubled
            /// The device's own counts are impossible.
            case deviceClaims = "device-claims"
        }

        var device: DeviceID
        var lostAtCollector: UInt64 = 0
        var missing: UInt64 = 0
        var doubled: UInt64 = 0
        var contradictoryStreams = 0

        var reasons: [Reason] {
            Reason.allCases.filter { reason in
                switch reason {
                case .lostAtCollector: lostAtCollector > 0
                case .missing: missing > 0
                case .doubled: doubled > 0
                case .deviceClaims: contradictoryStreams > 0
                }
            }
        }
    }

    var devices = 0
    var devicesWaiting = 0
    /// Streams of all epochs that are in the sums.
    var streams = 0
    /// Streams that are not, because their device reports something impossible. One device must not spoil the sums.
    var streamsLeftOut = 0
    var produced: UInt64 = 0
    var stored: UInt64 = 0
    var rejected: [String: UInt64] = [:]
    var dropped: [String: UInt64] = [:]
    var waiting: UInt64 = 0
    var lostAtCollector: UInt64 = 0
    var missing: UInt64 = 0
    var doubled: UInt64 = 0
    var devicesWithFaults = 0
    private(set) var faults: [Fault] = []

    /// Records that were acknowledged and are not there.
    var lost: UInt64 { lostAtCollector.addingSaturating(missing) }

    /// - Parameters:
    ///   - balances: by marks, one for each epoch and stream.
    ///   - found: what the rows in record files contradict.
    mutating func add(_ device: DeviceID, _ balances: [EpochBalance], found: [ChainFault]) {
        devices += 1
        var (fault, waits) = (Fault(device: device), false)
        for entry in balances {
            // What was counted when files were removed is the balance's only count of rows.
            fault.missing.addSaturating(entry.mark.stored.subtractingSaturating(entry.storedRows))
            fault.doubled.addSaturating(entry.storedRows.subtractingSaturating(entry.mark.stored))
            fault.lostAtCollector.addSaturating(entry.mark.lostAtCollector)
            guard entry.balance.closes else {
                fault.contradictoryStreams += 1
                continue
            }
            streams += 1
            produced.addSaturating(entry.balance.produced)
            stored.addSaturating(entry.balance.stored)
            rejected.add(entry.balance.rejected)
            dropped.add(entry.balance.dropped)
            waiting.addSaturating(entry.balance.waiting)
            waits = waits || entry.balance.waiting > 0
        }
        for chain in found {
            fault.missing.addSaturating(chain.missing)
            fault.doubled.addSaturating(chain.doubled)
        }
        if waits { devicesWaiting += 1 }
        streamsLeftOut += fault.contradictoryStreams
        lostAtCollector.addSaturating(fault.lostAtCollector)
        missing.addSaturating(fault.missing)
        doubled.addSaturating(fault.doubled)
        guard !fault.reasons.isEmpty else { return }
        devicesWithFaults += 1
        if faults.count < Self.maximumFaults { faults.append(fault) }
    }

    /// The balance of other devices comes in, too.
    mutating func add(_ other: FleetBalance) {
        devices += other.devices
        devicesWaiting += other.devicesWaiting
        streams += other.streams
        streamsLeftOut += other.streamsLeftOut
        produced.addSaturating(other.produced)
        stored.addSaturating(other.stored)
        rejected.add(other.rejected)
        dropped.add(other.dropped)
        waiting.addSaturating(other.waiting)
        lostAtCollector.addSaturating(other.lostAtCollector)
        missing.addSaturating(other.missing)
        doubled.addSaturating(other.doubled)
        devicesWithFaults += other.devicesWithFaults
        faults += other.faults.prefix(Self.maximumFaults - faults.count)
    }
}

extension [String: UInt64] {
    /// Reasons are few: a mark accepts no others than those of one byte.
    fileprivate mutating func add(_ other: [String: UInt64]) { merge(other) { $0.addingSaturating($1) } }
}

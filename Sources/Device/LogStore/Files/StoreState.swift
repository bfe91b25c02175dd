import Crypto
import FoundationEssentials
import WireModel

/// The data that a store keeps besides its segments, in the file `state`. `Schemas/logs/FORMAT.md` defines the format.
package struct StoreState: Equatable, Sendable {
    /// Numbers of lost lines by reason and level.
    package typealias Dropped = [LogDropReason: LogLevelCounts]

    /// The greatest version that is read. Version 2 says that lines may be encrypted, so that a program that does not
    /// know encryption leaves them alone; the form is the same.
    package static let version = 2
    /// A state has a few hundred bytes. A longer file is not ours.
    package static let maximumBytes = 1 << 20
    private static let sumBytes = 16
    private static let sumLineCharacters = "sum \n".count + 2 * sumBytes

    /// The epoch that the line numbers belong to.
    package var epoch: LogEpochID
    /// The ordinal of the next segment.
    package var next: UInt64
    package var dropped: Dropped
    /// Segments that are counted under `dropped` and about to be removed. After a crash between the two, the next
    /// holder removes them without counting again.
    package var removing: [SegmentName]
    /// Lines may be encrypted.
    package var mayBeEncrypted = false

    package init(epoch: LogEpochID, next: UInt64, dropped: Dropped = [:], removing: [SegmentName] = []) {
        self.epoch = epoch
        self.next = next
        self.dropped = dropped
        self.removing = removing
    }

    package mutating func count(_ counts: LogLevelCounts, as reason: LogDropReason) {
        if counts.total > 0 { dropped[reason, default: LogLevelCounts()] += counts }
    }

    package mutating func count(_ dropped: Dropped) {
        for (reason, counts) in dropped { count(counts, as: reason) }
    }

    package var text: String {
        var text = "ws1log-state \(mayBeEncrypted ? 2 : 1)\nepoch \(epoch.data.hexadecimal)\nnext \(next)\n"
        for (reason, counts) in dropped.sorted(by: { $0.key < $1.key }) {
            text += "dropped \(reason.rawValue) \(counts.list.map(String.init).joined(separator: " "))\n"
        }
        for name in removing { text += "removing \(name.file(.text))\n" }
        return "\(text)sum \(Self.sum(text))\n"
    }

    /// - Throws: `.damaged`, also for an empty file; `.newer`.
    package init(text: String, path: String) throws(LogStoreError) {
        let damaged = LogStoreError(
            .damaged, "\(path) is not what was written. Remove it: the store goes on in a new epoch.")
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.split(separator: " ") }
        guard let head = lines.first, head.count == 2, head[0] == "ws1log-state", let version = Int(head[1]) else {
            throw damaged
        }
        guard version <= Self.version else {
            throw LogStoreError(
                .newer, "\(path) has version \(version), this program knows up to \(Self.version). Use a newer one.")
        }
        guard lines.popLast()?.isEmpty == true, let sum = lines.popLast(), sum.count == 2, sum[0] == "sum",
            Self.sum(String(text.dropLast(Self.sumLineCharacters))) == sum[1]
        else { throw damaged }
        var epoch: LogEpochID?
        var next: UInt64?
        var dropped: Dropped = [:]
        var removing: [SegmentName] = []
        for line in lines.dropFirst() {
            switch line.first {
            case "epoch" where line.count == 2: epoch = LogEpochID(String(line[1]))
            case "next" where line.count == 2: next = UInt64(line[1])
            case "dropped" where line.count == 2 + LogLevel.allCases.count:
                let counts = line.dropFirst(2).compactMap { UInt64($0) }
                guard let reason = LogDropReason(rawValue: String(line[1])), counts.count == LogLevel.allCases.count
                else { throw damaged }
                dropped[reason] = LogLevelCounts(counts)
            case "removing" where line.count == 2:
                guard let name = SegmentName.read(String(line[1]))?.name else { throw damaged }
                removing.append(name)
            default: throw damaged
            }
        }
        guard let epoch, let next, (1...SegmentName.greatestOrdinal).contains(next) else { throw damaged }
        self.init(epoch: epoch, next: next, dropped: dropped, removing: removing)
        mayBeEncrypted = version == 2
    }

    static func sum(_ text: String) -> String {
        Data(SHA256.hash(data: Data(text.utf8)).prefix(sumBytes)).hexadecimal
    }
}

import Crypto
import FoundationEssentials
import WireModel

/// What one request of a sender without numbers adds to one device's chain of a stream: records that the store numbers.
///
/// A sender of OTLP keeps no mark and gives no numbers. It sends a request until an answer arrives. So the store
/// numbers the records, in the step that also finds out which of them it has already.
///
/// | kind | body, a message of OTLP |
/// |---|---|
/// | `otlpContext` | `ResourceLogs` or `ResourceMetrics` with one scope and no records; both have the same bytes |
/// | `otlpLog` | `LogRecord` |
/// | `otlpMetrics` | `ScopeMetrics` without scope and schema URL |
package struct UnnumberedItems: Equatable, Sendable {
    /// A record that follows its run's context.
    package struct Item: Equatable, Sendable {
        package var record: NewRecord
        /// `nil` if nothing says which record it is. Then it is stored each time it is sent.
        package var key: ItemKey?

        package init(_ record: NewRecord, key: ItemKey? = nil) {
            self.record = record
            self.key = key
        }
    }

    /// Items of one context. The store writes the context before the first item that it stores; if it has all items
    /// already, it writes neither.
    package struct Run: Equatable, Sendable {
        /// Of kind `otlpContext`. By convention its time is that of the first item.
        package var context: NewRecord
        /// At least one.
        package var items: [Item]

        package init(context: NewRecord, items: [Item]) {
            self.context = context
            self.items = items
        }
    }

    package var device: DeviceID
    /// `EpochID(numberedBy:for:)`.
    package var epoch: EpochID
    /// At least one, in the order of the request.
    package var runs: [Run]

    package init(device: DeviceID, epoch: EpochID, runs: [Run]) {
        self.device = device
        self.epoch = epoch
        self.runs = runs
    }

    package var itemCount: Int { runs.reduce(0) { $0 + $1.items.count } }

    /// The keys of its items; one that is there twice may be in it twice.
    package var keys: [ItemKey] { runs.flatMap { $0.items.compactMap(\.key) } }

    /// The earliest time of an item with a key, microseconds since 1970; `nil` if no item has one.
    package var earliestKeyed: Int64? {
        runs.compactMap { $0.items.compactMap { $0.key == nil ? nil : $0.record.stamp.wallTime }.min() }.min()
    }

    /// The size of what it holds in memory, in bytes.
    var byteCount: Int {
        runs.reduce(256) { size, run in
            run.items.reduce(size + run.context.byteCount) { $0 + $1.record.byteCount + 64 }
        }
    }

    /// Whether a record fits into a store: 256 KiB with its envelope and number. Whoever makes items rejects others
    /// first, contexts included.
    package static func fits(_ record: NewRecord) -> Bool { record.byteCount <= WireLimits.recordBytes }

    /// Why no store takes these items, for people; `nil` if it does.
    package func fault(in stream: StreamName) -> String? {
        guard !runs.isEmpty else { return "The items of device \(device) have no run." }
        for run in runs {
            guard !run.items.isEmpty else { return "A run of device \(device) has a context and no item." }
            guard run.context.kind == .otlpContext else {
                return "The context of a run of device \(device) is of kind \(run.context.kind.rawValue)."
            }
            for record in [run.context] + run.items.map(\.record) {
                guard record.stream == stream else {
                    return "A record of the \(record.stream) stream cannot be added to the \(stream) stream."
                }
                guard Self.fits(record) else {
                    return """
                        A record of device \(device) has \(record.byteCount) bytes; at most \(WireLimits.recordBytes) \
                        are stored.
                        """
                }
            }
            if run.items.contains(where: { $0.record.kind == .otlpContext }) {
                return "An item of device \(device) is a context."
            }
        }
        return nil
    }
}

extension [UnnumberedItems] {
    /// Splits a call's entries into those that a store takes, and the refusals of the others.
    /// - Returns: the positions of the entries that are taken, and an answer for each of the rest.
    package func admitted(to stream: StreamName) -> (taken: [Int], refusals: [Int: UnnumberedAnswer]) {
        var seen: Set<DeviceID> = []
        var (taken, refusals): ([Int], [Int: UnnumberedAnswer]) = ([], [:])
        for (place, entry) in enumerated() {
            if let fault = entry.fault(in: stream) {
                refusals[place] = UnnumberedAnswer(refused: fault)
            } else if !seen.insert(entry.device).inserted {
                refusals[place] = UnnumberedAnswer(refused: "Device \(entry.device) is named twice.")
            } else {
                taken.append(place)
            }
        }
        return (taken, refusals)
    }
}

/// What became of one `UnnumberedItems`.
package struct UnnumberedAnswer: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        /// Each item is on disk: stored now, or known by its key and stored before.
        case stored
        /// None of them was stored. The same call may succeed later.
        case unavailable
        /// None of them was stored, and the same call will never succeed.
        case refused
    }

    package var outcome: Outcome
    /// Items that were stored now; contexts are not counted.
    package var stored: Int
    /// Items that were left out because the store had their keys, or an earlier item of the call had.
    package var known: Int
    /// The reason why nothing was stored, for people; empty otherwise.
    package var detail: String

    package init(stored: Int, known: Int) {
        outcome = .stored
        self.stored = stored
        self.known = known
        detail = ""
    }

    package init(unavailable detail: String) {
        outcome = .unavailable
        (stored, known) = (0, 0)
        self.detail = detail
    }

    package init(refused detail: String) {
        outcome = .refused
        (stored, known) = (0, 0)
        self.detail = detail
    }
}

extension EpochID {
    /// The epoch under which a collector numbers the records of a device that numbers none.
    ///
    /// It depends on the incarnation: a restored collector begins again at an older mark, and must not give another
    /// record a number that somebody knows already.
    package init(numberedBy incarnation: IncarnationID, for device: DeviceID) {
        self.init(hashing: "ws1 otlp epoch", [incarnation.data, device.data])
    }
}

extension Identifier {
    /// The first 16 bytes of SHA-256 over a purpose, a zero byte, and the values with a zero byte between two.
    package init(hashing purpose: String, _ values: [Data]) {
        var hash = SHA256()
        hash.update(data: Data(purpose.utf8))
        for value in values {
            hash.update(data: [0])
            hash.update(data: value)
        }
        self = hash.finalize().withUnsafeBytes { digest in
            Self(
                high: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                low: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}

import FoundationEssentials
import WireModel

/// The contexts of a slice, found when the first record asks for its own.
package struct SliceContexts {
    private let records: Data
    private let ranges: [Range<Int>]
    /// The place of each context among the records, with its body; `nil` before the first question.
    private var found: [(place: Int, body: Data)]?

    /// - Parameters:
    ///   - records: the packed records of the slice.
    ///   - ranges: where each of them is.
    package init(_ records: Data, _ ranges: [Range<Int>]) {
        self.records = records
        self.ranges = ranges
    }

    /// The body of the context that holds for a record: its own, else that of the last record before it that is one.
    /// `nil` if the record needs none.
    /// - Parameter place: of the record in the slice, from 0.
    package mutating func context(of header: RecordHeader, at place: Int) -> Data? {
        guard let kind = WireRecordKind(rawValue: header.kind), kind.isMadeByCollectors, kind != .otlpContext else {
            return nil
        }
        guard header.context.isEmpty else { return Data(records.slice(ranges[place]).slice(header.context)) }
        let contexts = found ?? all()
        found = contexts
        var (low, high) = (0, contexts.count)
        while low < high {
            let middle = (low + high) / 2
            if contexts[middle].place < place { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : contexts[low - 1].body
    }

    private func all() -> [(place: Int, body: Data)] {
        var contexts: [(place: Int, body: Data)] = []
        for (place, range) in ranges.enumerated() {
            let record = records.slice(range)
            guard let envelope = record.withUnsafeBytes({ RecordEnvelope(scanning: $0) }),
                envelope.kind == WireRecordKind.otlpContext.rawValue
            else { continue }
            contexts.append((place, Data(record.slice(envelope.body))))
        }
        return contexts
    }
}

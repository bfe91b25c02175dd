import Glibc
import WireModel

/// Tells what was appended to a store since it was asked last, in active segments and in those that began or were sealed meanwhile.
/// Not `Sendable`: one thread at a time.
package final class StoreFollower {
    private let directory: StoreDirectory
    private let kinds: Set<SegmentName.Kind>
    private let filter: LogFilter
    private let matcher: LogLineMatcher
    private let inflater: BlockInflater
    /// Bytes of text that were told, or are not asked for.
    private var offsets: [SegmentName: Int]
    /// Sealed, and told to the end, or not readable.
    private var finished: Set<SegmentName>

    /// Begins after what the snapshot holds.
    package init(after snapshot: StoreSnapshot, filter: LogFilter) throws(LogStoreError) {
        directory = snapshot.directory
        kinds = snapshot.kinds
        self.filter = filter
        matcher = LogLineMatcher(filter)
        inflater = try BlockInflater()
        offsets = Dictionary(uniqueKeysWithValues: snapshot.segments.map { ($0.name, $0.index.whole.rawBytes) })
        finished = Set(snapshot.segments.filter(\.isSealed).map(\.name) + snapshot.problems.map(\.name))
    }

    /// New wanted lines, by time, each with its end.
    package func poll() throws(LogStoreError) -> [[UInt8]] {
        var found: [(time: Int64, line: [UInt8])] = []
        for (name, parts) in try directory.segments().sorted(by: { $0.key < $1.key }) where kinds.contains(name.kind) {
            guard !finished.contains(name), parts != [.index] else { continue }
            var offset = offsets[name, default: 0]
            var status = stat()
            // Nothing was appended: the usual case.
            if parts == [.text], stat(directory.path(name, .text), &status) == 0, status.st_size == off_t(offset) { continue }
            do {
                let reader = try SegmentReader.open(name, in: directory, inflater: inflater)
                try reader.read(offset..<Int.max, where: { _ in true }) { text, start in
                    offset = start + text.count
                    var wanted = WantedLines()
                    wanted.add(text, matcher, filter)
                    found += wanted.list.indices.map { (wanted.list[$0].time, wanted.line($0)) }
                }
                if reader.isSealed { finished.insert(name) }
            } catch {
                // Removed meanwhile, or damaged: there is nothing more to tell of it.
                finished.insert(name)
            }
            offsets[name] = offset
        }
        // Sorting keeps the order of lines of the same time: by segment, then by place.
        return found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element.line)
    }
}

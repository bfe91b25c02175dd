import Glibc
import WireModel

/// What a store's directory holds at one moment: sealed segments by their indexes, active ones up to their last whole
/// line. It takes no lock. What writers append later is not part of it; what retention removes is missing only when it
/// is read.
package struct StoreSnapshot: Sendable {
    package struct Segment: Sendable {
        package let name: SegmentName
        package let isSealed: Bool
        /// Of an active one, a block is as it will be sealed, stored as it is.
        package let index: SegmentIndex
    }

    /// A segment that cannot be read, and why.
    package struct Problem: Sendable {
        package let name: SegmentName
        package let error: LogStoreError
    }

    package let directory: StoreDirectory
    package let kinds: Set<SegmentName.Kind>
    /// Sorted by ordinal, which is the byte order of the log.
    package private(set) var segments: [Segment] = []
    package private(set) var problems: [Problem] = []
    /// Removed between being listed and being opened.
    package private(set) var gone: [SegmentName] = []

    /// - Throws: `.notFound` where there is no directory; what is wrong with one segment is in `problems`.
    package init(_ directory: StoreDirectory, kinds: Set<SegmentName.Kind>, epoch: LogEpochID = .unknown)
        throws(LogStoreError)
    {
        self.directory = directory
        self.kinds = kinds
        let inflater = try BlockInflater()
        for (name, parts) in try directory.segments().sorted(by: { $0.key < $1.key }) where kinds.contains(name.kind) {
            // An index alone is what retention leaves for a moment, or a segment lost: nothing to read either way.
            guard parts != [.index] else {
                gone.append(name)
                continue
            }
            do {
                let reader = try SegmentReader.open(name, in: directory, inflater: inflater)
                guard let index = try reader.stretches(epoch: epoch) else { continue }
                segments.append(Segment(name: name, isSealed: reader.isSealed, index: index))
            } catch {
                if error.code == .notFound {
                    gone.append(name)
                } else {
                    problems.append(Problem(name: name, error: error))
                }
            }
        }
    }

    /// One segment of it.
    package func only(_ segment: Segment) -> StoreSnapshot {
        var copy = self
        (copy.segments, copy.problems, copy.gone) = ([segment], [], [])
        return copy
    }
}

/// Tells what was appended to a store since it was asked last, in active segments and in those that began or were
/// sealed meanwhile. Not `Sendable`: one thread at a time.
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
            if parts == [.text], stat(directory.path(name, .text), &status) == 0, status.st_size == off_t(offset) {
                continue
            }
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
        return found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
            \.element.line)
    }
}

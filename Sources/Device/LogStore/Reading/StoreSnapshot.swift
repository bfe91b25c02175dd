import Glibc
import WireModel

/// The content of a store's directory at one moment: sealed segments by their indexes, active ones up to their last
/// whole line. It acquires no lock. Lines appended later are not part of it. Segments that retention removes are found
/// missing when they are read.
package struct StoreSnapshot: Sendable {
    package struct Segment: Sendable {
        package let name: SegmentName
        package let isSealed: Bool
        /// The index; for an active segment, the blocks are those that sealing will make; they are stored uncompressed.
        package let index: SegmentIndex
    }

    /// A segment that cannot be read, and the cause.
    package struct Problem: Sendable {
        package let name: SegmentName
        package let error: LogStoreError
    }

    package let directory: StoreDirectory
    package let kinds: Set<SegmentName.Kind>
    /// The bundle id whose segments alone are read; `nil` for all.
    package let application: String?
    /// Sorted by ordinal, which is the byte order of the log.
    package private(set) var segments: [Segment] = []
    package private(set) var problems: [Problem] = []
    /// Segments that were removed between being listed and being opened.
    package private(set) var gone: [SegmentName] = []

    /// - Throws: `.notFound` if there is no directory. Faults of single segments are listed in `problems`.
    package init(
        _ directory: StoreDirectory, kinds: Set<SegmentName.Kind>, application: String? = nil,
        epoch: LogEpochID = .unknown
    ) throws(LogStoreError) {
        self.directory = directory
        self.kinds = kinds
        self.application = application
        let inflater = try BlockInflater()
        for (name, parts) in try directory.segments(of: kinds, application) {
            // Retention leaves an index alone for a moment, or the segment was lost. Either way there is nothing to
            // read.
            guard parts != [.index] else {
                gone.append(name)
                continue
            }
            do {
                let reader = try SegmentReader.open(name, in: directory, inflater: inflater)
                let index = try reader.stretches(epoch: epoch)
                if let problem = reader.problem { problems.append(Problem(name: name, error: problem)) }
                guard let index else { continue }
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

    /// The snapshot reduced to one segment.
    package func only(_ segment: Segment) -> StoreSnapshot { only { $0 == segment.name } }

    /// The snapshot reduced to some segments.
    package func only(where isIncluded: (SegmentName) -> Bool) -> StoreSnapshot {
        var copy = self
        copy.segments = segments.filter { isIncluded($0.name) }
        copy.problems = problems.filter { isIncluded($0.name) }
        copy.gone = gone.filter(isIncluded)
        return copy
    }
}

/// Reports what was appended to a store since the last call, in active segments and in those begun or sealed meanwhile.
/// Not `Sendable`: use it from one thread at a time.
package final class StoreFollower {
    private let directory: StoreDirectory
    private let kinds: Set<SegmentName.Kind>
    private let application: String?
    private let filter: LogFilter
    private let matcher: LogLineMatcher
    private let inflater: BlockInflater
    /// Bytes of text that were reported or lie before the start.
    private var offsets: [SegmentName: Int]
    /// Bytes that the files of texts had at the last look. An encrypted text is longer than its lines.
    private var sizes: [SegmentName: off_t] = [:]
    /// Sealed segments that were reported to their end or cannot be read.
    private var finished: Set<SegmentName>
    /// Segments whose key is not at hand. They are looked at again.
    private var locked: Set<SegmentName> = []
    /// What could not be read, each once.
    package private(set) var problems: [StoreSnapshot.Problem] = []

    /// Starts after what the snapshot holds.
    package init(after snapshot: StoreSnapshot, filter: LogFilter) throws(LogStoreError) {
        directory = snapshot.directory
        kinds = snapshot.kinds
        application = snapshot.application
        self.filter = filter
        matcher = LogLineMatcher(filter)
        inflater = try BlockInflater()
        let offsets = Dictionary(uniqueKeysWithValues: snapshot.segments.map { ($0.name, $0.index.whole.rawBytes) })
        self.offsets = offsets
        finished = Set(
            snapshot.segments.filter(\.isSealed).map(\.name)
                + snapshot.problems.filter { $0.error.code != .locked && offsets[$0.name] == nil }.map(\.name))
    }

    /// New matching lines, sorted by time, each with its newline.
    package func poll() throws(LogStoreError) -> [[UInt8]] {
        var found: [(time: Int64, line: [UInt8])] = []
        for (name, parts) in try directory.segments(of: kinds, application) {
            guard !finished.contains(name), parts != [.index] else { continue }
            var offset = offsets[name, default: 0]
            var status = stat()
            // The usual case: nothing was appended.
            if parts == [.text], stat(directory.path(name, .text), &status) == 0 {
                // Committing lines does not make their file longer.
                let size = off_t((try? directory.committedBytes(of: name)) ?? Int(status.st_size))
                if size == sizes[name] { continue }
                sizes[name] = size
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
            } catch  where error.code == .locked {
                sizes[name] = nil
                if !locked.contains(name) { problems.append(StoreSnapshot.Problem(name: name, error: error)) }
                locked.insert(name)
            } catch {
                // The segment was removed meanwhile or is damaged, so it has nothing more to report.
                finished.insert(name)
            }
            offsets[name] = offset
        }
        // Lines of the same time keep their order: by segment, then by place.
        return found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
            \.element.line)
    }
}

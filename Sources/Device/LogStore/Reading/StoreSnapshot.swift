import WireModel

/// What a store's directory holds at one moment: sealed segments by their indexes, active ones up to their last whole line. Takes no lock and
/// disturbs nobody; what writers append later is not part of it, and what retention removes is missing only when it is read.
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
    /// By ordinal: the byte order of the log.
    package private(set) var segments: [Segment] = []
    package private(set) var problems: [Problem] = []
    /// Removed between being listed and being opened.
    package private(set) var gone: [SegmentName] = []

    /// - Throws: `.notFound` where there is no directory; what is wrong with one segment is in `problems`.
    package init(_ directory: StoreDirectory, kinds: Set<SegmentName.Kind>, epoch: LogEpochID = .unknown) throws(LogStoreError) {
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
                if error.code == .notFound { gone.append(name) } else { problems.append(Problem(name: name, error: error)) }
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

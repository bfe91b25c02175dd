/// Which segments have to go: oldest first, never one that is being written.
struct RetentionPlan: Equatable, Sendable {
    struct Segment: Equatable, Sendable {
        var name: SegmentName
        /// Of all its files.
        var bytes: Int
        /// Nobody writes or seals it.
        var isClosed: Bool
    }

    struct Limits: Equatable, Sendable {
        /// Of everything but the ring.
        var bytes: Int
        var ringBytes: Int
        /// Segments whose last line is older go, microseconds since 1970.
        var oldest: Int64
    }

    struct Victim: Equatable, Sendable {
        var name: SegmentName
        var reason: LogDropReason
    }

    private(set) var victims: [Victim] = []

    /// - Parameters:
    ///   - segments: in any order.
    ///   - lastTime: of a segment's lines; `nil` where it is not known. Asked only until the first that is young enough.
    init(_ segments: [Segment], limits: Limits, lastTime: (SegmentName) -> Int64?) {
        for (isRing, cap) in [(false, limits.bytes), (true, limits.ringBytes)] {
            let ours = segments.filter { ($0.name.kind == .ring) == isRing }.sorted { $0.name < $1.name }
            var total = ours.reduce(0) { $0 + $1.bytes }
            var mayBeOld = true
            for segment in ours where segment.isClosed {
                if mayBeOld, let last = lastTime(segment.name), last < limits.oldest {
                    victims.append(Victim(name: segment.name, reason: .ageCap))
                } else {
                    mayBeOld = false
                    guard total > cap else { break }
                    victims.append(Victim(name: segment.name, reason: .sizeCap))
                }
                total -= segment.bytes
            }
        }
    }
}

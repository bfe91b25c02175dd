import WireModel

/// Lines of one kind on their way into segments: numbered, gathered, written, and on to the next segment when one is full or old.
///
/// Not `Sendable`: behind the writer's lock.
final class SegmentStream {
    private let kind: SegmentName.Kind
    /// Of a segment's text.
    private let maximumBytes: Int
    private let keeper: StoreKeeper
    /// It is gone a moment later, and goes on where the visitor before it stopped.
    private let isVisiting: Bool
    /// Hears of each segment that is begun.
    private let began: (SegmentName) -> Void
    private var active: ActiveSegment?
    private var text = LineText()
    /// Of the last line gathered, in its segment.
    private var position: UInt64 = 0
    /// Why nothing can be written for the rest of this turn.
    private var obstacle: LogDropReason?
    /// Lines handed to the kernel, since the start.
    private(set) var written = LogLevelCounts()
    /// Whether there is a segment to seal since this was last set.
    var hasRetired = false

    init(
        _ kind: SegmentName.Kind, maximumBytes: Int, keeper: StoreKeeper, isVisiting: Bool = false,
        began: @escaping (SegmentName) -> Void = { _ in }
    ) {
        self.isVisiting = isVisiting
        self.began = began
        self.kind = kind
        self.maximumBytes = maximumBytes
        self.keeper = keeper
    }

    /// A turn: lines are appended and flushed, and what fails fails for the rest of it.
    func beginTurn(_ losses: inout LossLedger) {
        obstacle = nil
        guard let active, !active.isInPlace else { return }
        if active.isRemoved { losses.count(active.counts, as: .deleted) }
        retire()
    }

    func append(time: Int64, level: LogLevel, body: UnsafeRawBufferPointer, _ losses: inout LossLedger) {
        guard let number = makeRoom(for: body.count, &losses) else {
            losses.count(level, as: obstacle ?? .unwritable)
            return
        }
        text.append(time: time, level: level, number: number, body: body)
        position += 1
        if text.isFull { flush(&losses) }
    }

    /// Hands what is gathered to the kernel.
    /// - Returns: whether all is there.
    @discardableResult
    func flush(_ losses: inout LossLedger) -> Bool {
        guard text.count > 0, let active else { return obstacle == nil }
        let before = active.counts
        let (_, failure) = active.write(text.bytes, counts: text.counts)
        var taken = active.counts
        taken -= before
        written += taken
        if let failure {
            var lost = text.counts
            lost -= taken
            fail(failure, &losses)
            losses.count(lost, as: obstacle ?? .unwritable)
            position -= lost.total
        }
        text.empty()
        return failure == nil
    }

    /// Closes the segment if its first line is older than that; `nil`: in any case.
    func retire(ifBegunBefore bootMilliseconds: Int64? = nil) {
        guard let active else { return }
        if let bootMilliseconds { guard let began = active.began, began <= bootMilliseconds else { return } }
        self.active = nil
        hasRetired = true
    }

    /// Milliseconds since boot, of the oldest line of the active segment.
    var oldestLine: Int64? { active?.began }

    /// The next line's number, in a segment that has room for it.
    private func makeRoom(for body: Int, _ losses: inout LossLedger) -> LogNumber? {
        guard obstacle == nil else { return nil }
        if isVisiting, active == nil, let (segment, last) = try? keeper.resume(kind, maximumBytes: maximumBytes) {
            active = segment
            position = last
        }
        if let active {
            let number = LogNumber(segment: active.name.ordinal, position: position + 1)
            if active.bytes + text.count + LineText.lineBytes(number: number, body: body) <= maximumBytes { return number }
            guard flush(&losses) else { return nil }
            retire()
        }
        do throws(LogStoreError) {
            let segment = try keeper.begin(kind, counting: losses.unsaved)
            losses.saved()
            active = segment
            position = 0
            began(segment.name)
            return LogNumber(segment: segment.name.ordinal, position: 1)
        } catch {
            fail(error, &losses)
            return nil
        }
    }

    private func fail(_ error: LogStoreError, _ losses: inout LossLedger) {
        losses.failure = error
        obstacle = error.code == .diskFull ? .diskFull : .unwritable
    }
}

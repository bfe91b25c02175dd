import WireModel

/// Goes over the lines of a segment by their numbers, each once, whatever the chunks it came in.
///
/// Not `Sendable`: belongs to its reader.
final class SegmentCursor {
    let key: LogSegment.Key
    private let runs: [RunCursor]
    /// The run whose line is next.
    private var front: RunCursor?
    private var last: UInt64?

    init(_ key: LogSegment.Key, _ runs: [RunCursor]) throws(StoreError) {
        self.key = key
        self.runs = runs
        for run in runs { try run.advance() }
        chooseFront()
    }

    /// Of the present line; `nil` at the end.
    var head: RunCursor.Head? { front?.head }

    func release() { for run in runs { run.release() } }

    /// Appends the present line and goes to the next.
    func write(to output: inout [UInt8]) throws(StoreError) {
        guard let front, let head = front.head else { return }
        try front.write(to: &output)
        last = head.number
        // The same line in other chunks, and numbers that do not ascend where they must.
        for run in runs { while let other = run.head, other.number <= head.number { try run.advance() } }
        chooseFront()
    }

    private func chooseFront() {
        front = nil
        for run in runs {
            guard let head = run.head else { continue }
            if let best = front?.head, best.number <= head.number { continue }
            front = run
        }
    }
}

import Glibc

/// The lines of some text, in order, each with its end; the last may have none. Nothing is copied.
package struct LineSlices: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    package init(_ text: UnsafeRawBufferPointer) { rest = text }

    package mutating func next() -> UnsafeRawBufferPointer? {
        guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
        let end = memchr(start, Int32(UInt8(ascii: "\n")), rest.count).map { UnsafeRawPointer($0) - start + 1 } ?? rest.count
        let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
        rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        return line
    }

    /// How many of the first bytes of a text are its next block: as many whole lines as fit into `LogLimits.blockBytes`, at least one.
    /// 0 where not even one line is whole.
    package static func blockBytes(_ text: UnsafeRawBufferPointer, limit: Int) -> Int {
        var end = Swift.min(text.count, limit)
        while end > 0, text[end - 1] != UInt8(ascii: "\n") { end -= 1 }
        if end > 0 { return end }
        guard let line = LineSlices(text).first(where: { _ in true }), line.last == UInt8(ascii: "\n") else { return 0 }
        return line.count
    }
}

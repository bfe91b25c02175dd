import WireModel

/// The lines of one block that a filter wants, copied.
struct WantedLines {
    struct Line {
        /// Of a line that is not of the form, that of the one before.
        var time: Int64
        var range: Range<Int>
    }

    private(set) var list: [Line] = []
    private var bytes: [UInt8] = []

    init() {}

    init(_ block: SegmentIndex.Block, _ reader: SegmentReader, _ filter: LogFilter) throws(LogStoreError) {
        let matcher = LogLineMatcher(filter)
        let range = block.rawOffset..<(block.rawOffset + block.stretch.rawBytes)
        try reader.read(range, where: { _ in true }) { text, _ in add(text, matcher, filter) }
    }

    mutating func add(_ text: UnsafeRawBufferPointer, _ matcher: LogLineMatcher, _ filter: LogFilter) {
        for line in LineSlices(text) {
            let fields = LogLine(line)
            guard fields.map({ matcher.matches($0, in: line) }) ?? filter.isEverything else { continue }
            let start = bytes.count
            bytes.append(contentsOf: line)
            list.append(Line(time: fields?.time ?? list.last?.time ?? 0, range: start..<bytes.count))
        }
    }

    func withLine<Failure: Error>(_ position: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[list[position].range]))
        }
    }

    func line(_ position: Int) -> [UInt8] { Array(bytes[list[position].range]) }
}

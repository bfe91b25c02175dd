extension ChainItems {
    private static let linkBytes = 16

    func write(_ writer: inout ByteWriter) {
        func link(_ link: Bytes16) {
            writer.bigEndian(link.high)
            writer.bigEndian(link.low)
        }
        var last: UInt64 = 0
        writer.count(points.count)
        for point in points {
            writer.varint(point.number - last)
            link(point.link)
            last = point.number
        }
        last = 0
        writer.count(gaps.count)
        for gap in gaps {
            writer.varint(gap.first - last)
            writer.varint(gap.last - gap.first)
            writer.varint(gap.reason)
            link(gap.link)
            last = gap.last
        }
        last = 0
        writer.count(lost.count)
        for range in lost {
            writer.varint(range.first - last)
            writer.varint(range.last - range.first)
            last = range.last
        }
        last = 0
        writer.count(rejected.count)
        for record in rejected {
            writer.varint(record.number - last)
            writer.varint(record.reason)
            writer.varint(record.size)
            link(record.link)
            writer.count(record.bytes.map { $0.count + 1 } ?? 0)
            if let bytes = record.bytes { writer.bytes(bytes) }
            last = record.number
        }
    }

    init(_ reader: inout ByteReader) throws(RecordBlockError) {
        func link() throws(RecordBlockError) -> Bytes16 {
            Bytes16(high: try reader.bigEndian(), low: try reader.bigEndian())
        }
        func sum(_ number: UInt64, _ step: UInt64) throws(RecordBlockError) -> UInt64 {
            let (sum, overflow) = number.addingReportingOverflow(step)
            guard !overflow else { throw .malformed("a number of the chain has more than 64 bits") }
            return sum
        }
        func count(_ what: String, bytes: Int) throws(RecordBlockError) -> Int {
            try reader.count(atMost: reader.left / bytes, what)
        }
        self.init()
        var last: UInt64 = 0
        for _ in 0..<(try count("links", bytes: 1 + Self.linkBytes)) {
            last = try sum(last, try reader.varint())
            points.append(Point(number: last, link: try link()))
        }
        last = 0
        for _ in 0..<(try count("gaps", bytes: 3 + Self.linkBytes)) {
            let first = try sum(last, try reader.varint())
            last = try sum(first, try reader.varint())
            gaps.append(Gap(first: first, last: last, reason: try reader.varint(), link: try link()))
        }
        last = 0
        for _ in 0..<(try count("ranges of lost records", bytes: 2)) {
            let first = try sum(last, try reader.varint())
            last = try sum(first, try reader.varint())
            lost.append(Lost(first: first, last: last))
        }
        last = 0
        for _ in 0..<(try count("rejected records", bytes: 4 + Self.linkBytes)) {
            last = try sum(last, try reader.varint())
            var record = Rejected(
                number: last, reason: try reader.varint(), size: try reader.varint(), link: try link())
            let length = try reader.count(atMost: reader.left, "bytes of a rejected record")
            if length > 0 { record.bytes = Array(try reader.take(length - 1)) }
            rejected.append(record)
        }
        do { try check() } catch { throw .malformed(error.message) }
    }

    /// Throws `.invalid` unless each list ascends and does not overlap itself.
    func check() throws(RecordBlockError) {
        func check(_ ranges: [(UInt64, UInt64)], _ what: String) throws(RecordBlockError) {
            var last: UInt64?
            for (first, end) in ranges {
                guard first <= end, last.map({ first > $0 }) ?? true else {
                    throw RecordBlockError(.invalid, "\(what) \(first) to \(end) is not behind the one before it")
                }
                last = end
            }
        }
        try check(points.map { ($0.number, $0.number) }, "link")
        try check(gaps.map { ($0.first, $0.last) }, "gap")
        try check(lost.map { ($0.first, $0.last) }, "range of lost records")
        try check(rejected.map { ($0.number, $0.number) }, "rejected record")
    }
}

/// Writes records from decoded columns, byte for byte as they were packed.
///
/// It writes from the last byte of the last record to the first of the first, so that the length of a message is
/// known when it is written. The pointers are valid during `write`; every place is checked before it is used.
struct RecordWriter {
    /// A node of the tree with what writing it needs.
    private struct Field {
        var kind: FieldKind
        var decimals: UInt8?
        var tag: UInt64
        /// Where its first word is among those of all sets of rows; `nil` if all records with the parent have it.
        var words: Int?
        /// Its children among all, the last one first.
        var children: Range<Int>
        /// Its values that are not written yet, among all.
        var left: Range<Int>
    }

    private let fields: UnsafeMutableBufferPointer<Field>
    private let children: UnsafeBufferPointer<Int>
    private let words: UnsafeBufferPointer<UInt64>
    private let values: UnsafeBufferPointer<UInt64>
    private let output: UnsafeMutableBufferPointer<UInt8>
    private let texts: BlockTexts
    /// Where the next byte ends.
    private var position: Int

    /// - Parameters:
    ///   - rows: of each node, the records that have it.
    ///   - columns: of each node, where its values are in `store`.
    /// - Returns: the records' bytes, and where each ends.
    static func write(
        _ directory: BlockDirectory, rows: [RowSet], columns: [Range<Int>], _ store: [UInt64], _ texts: BlockTexts,
        _ header: BlockHeader
    ) throws(RecordBlockError) -> (bytes: [UInt8], ends: [Int]) {
        var children: [Int] = []
        var words: [UInt64] = []
        var fields: [Field] = []
        for (place, node) in directory.nodes.enumerated() {
            var field = Field(
                kind: node.kind, decimals: node.column?.decimals,
                tag: UInt64(node.field) << 3 | UInt64(node.kind.wireType), children: 0..<0, left: columns[place])
            if node.presence != .always {
                field.words = words.count
                words += rows[place].words
            }
            let start = children.count
            children += node.children.reversed()
            field.children = start..<children.count
            fields.append(field)
        }
        let root = fields[BlockDirectory.root].children.map { child in
            (child: children[child], field: directory.nodes[children[child]].field)
        }
        let recordCount = header.recordCount
        var ends = [Int](repeating: 0, count: recordCount)
        var bytes = [UInt8](repeating: 0, count: header.rawBytes - recordCount * BlockRecords.lengthBytes)
        try bytes.withUnsafeMutableBufferPointer { (output) throws(RecordBlockError) in
            try fields.withUnsafeMutableBufferPointer { (fields) throws(RecordBlockError) in
                try children.withUnsafeBufferPointer { (children) throws(RecordBlockError) in
                    try words.withUnsafeBufferPointer { (words) throws(RecordBlockError) in
                        try store.withUnsafeBufferPointer { (values) throws(RecordBlockError) in
                            var writer = RecordWriter(
                                fields: fields, children: children, words: words, values: values, output: output,
                                texts: texts, position: output.count)
                            for row in stride(from: recordCount - 1, through: 0, by: -1) {
                                ends[row] = writer.position
                                try writer.record(row, root)
                            }
                            guard writer.position == 0 else {
                                throw .malformed("the records have \(writer.position) bytes too few")
                            }
                        }
                    }
                }
            }
        }
        return (bytes, ends)
    }

    private mutating func record(_ row: Int, _ root: [(child: Int, field: UInt32)]) throws(RecordBlockError) {
        var forms = 0
        for (child, field) in root where has(child, row) {
            switch field {
            case FieldTree.Root.opaque: try bytes(try text(child))
            case FieldTree.Root.record: try message(child, row)
            default: continue
            }
            forms += 1
        }
        guard forms == 1 else { throw .malformed("record \(row) of the block is there \(forms) times") }
    }

    @inline(__always)
    private func has(_ node: Int, _ row: Int) -> Bool {
        guard let start = fields[node].words else { return true }
        return words[start + row >> 6] >> UInt64(row & 63) & 1 == 1
    }

    private mutating func message(_ parent: Int, _ row: Int) throws(RecordBlockError) {
        for index in fields[parent].children {
            let child = children[index]
            guard has(child, row) else { continue }
            switch fields[child].kind {
            case .message:
                let end = position
                try message(child, row)
                try varint(UInt64(end - position))
            case .bytes:
                let text = try text(child)
                try bytes(text)
                try varint(UInt64(text.count))
            case .varint: try varint(try number(child))
            case .fixed64:
                let value = try number(child)
                try fixed(fields[child].decimals.map { Decimals.bits(value, $0) } ?? value, 8)
            case .fixed32: try fixed(try number(child), 4)
            }
            try varint(fields[child].tag)
        }
    }

    @inline(__always)
    private func number(_ column: Int) throws(RecordBlockError) -> UInt64 {
        let left = fields[column].left
        guard !left.isEmpty else { throw .malformed("column \(column) ends too early") }
        fields[column].left = left.lowerBound..<(left.upperBound - 1)
        return values[left.upperBound - 1]
    }

    private func text(_ column: Int) throws(RecordBlockError) -> Range<Int> {
        try texts.range(try number(column), of: column)
    }

    private mutating func bytes(_ range: Range<Int>) throws(RecordBlockError) {
        try reserve(range.count)
        texts.bytes.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(output)[position..<(position + range.count)].copyBytes(from: source[range])
        }
    }

    @inline(__always)
    private mutating func varint(_ value: UInt64) throws(RecordBlockError) {
        if value < 0x80 {
            try reserve(1)
            output[position] = UInt8(truncatingIfNeeded: value)
            return
        }
        let count = (value.bitCount + 6) / 7
        try reserve(count)
        var rest = value
        for place in position..<(position + count - 1) {
            output[place] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
        }
        output[position + count - 1] = UInt8(truncatingIfNeeded: rest)
    }

    private mutating func fixed(_ value: UInt64, _ count: Int) throws(RecordBlockError) {
        try reserve(count)
        for place in 0..<count { output[position + place] = UInt8(truncatingIfNeeded: value >> UInt64(8 * place)) }
    }

    @inline(__always)
    private mutating func reserve(_ count: Int) throws(RecordBlockError) {
        guard count <= position else { throw .malformed("the records have more bytes than the head says") }
        position -= count
    }
}

/// The texts of all columns, inflated.
struct BlockTexts {
    let bytes: [UInt8]
    /// Of each node with texts, where the first begins; and where each ends.
    private var starts: [UInt32]
    private var ends: [[UInt32]]

    init(_ bytes: [UInt8], _ directory: BlockDirectory) throws(RecordBlockError) {
        self.bytes = bytes
        starts = Array(repeating: 0, count: directory.nodes.count)
        ends = Array(repeating: [], count: directory.nodes.count)
        var reader = ByteReader(bytes[...])
        for (place, node) in directory.nodes.enumerated() where node.kind == .bytes {
            guard let count = node.column?.textCount, count <= reader.left else {
                throw .malformed("column \(place) has more texts than bytes")
            }
            var lengths: [UInt32] = []
            lengths.reserveCapacity(count)
            for _ in 0..<count { lengths.append(UInt32(try reader.count(atMost: reader.left, "bytes of a text"))) }
            starts[place] = UInt32(reader.position)
            for index in lengths.indices {
                _ = try reader.take(Int(lengths[index]))
                lengths[index] = UInt32(reader.position)
            }
            ends[place] = lengths
        }
        guard reader.left == 0 else { throw .malformed("\(reader.left) bytes follow the texts") }
    }

    /// Where the text in this place of a column is.
    @inline(__always)
    func range(_ place: UInt64, of column: Int) throws(RecordBlockError) -> Range<Int> {
        guard place < ends[column].count else { throw .malformed("column \(column) names text \(place)") }
        let place = Int(place)
        return Int(place == 0 ? starts[column] : ends[column][place - 1])..<Int(ends[column][place])
    }
}

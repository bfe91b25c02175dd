/// Reads a block: the head, single columns, or all records byte for byte.
///
/// Any bytes give what was packed or an error, never a trap. Nothing is taken from a block before its checksum
/// fits, and every length and count in it is compared with a limit before memory is taken. The reader takes at most
/// about twelve times `header.rawBytes`, which is at most `BlockLimits.rawBytes`, and a few MiB for its tree.
///
/// It keeps what it has decoded. Use it from one thread at a time.
package struct BlockReader {
    package let header: BlockHeader
    private let directory: BlockDirectory
    private let columns: ArraySlice<UInt8>
    private let storedTexts: ArraySlice<UInt8>

    /// Decoded columns, by node.
    private var decoded: [DecodedColumn?]
    private var rowSets: [RowSet?]
    private var texts: BlockTexts?
    /// The values of all columns so far.
    private var store: [UInt64] = []

    /// How many columns were decoded so far.
    package var decodedColumns: Int { decoded.count { $0 != nil } }

    /// A column's values. They are in the order of the records that have it.
    private struct DecodedColumn {
        var rows: RowSet
        /// Where its values are in `store`. Of bytes each is the place among the column's texts.
        var values: Range<Int>
    }

    /// Checks the block's checksums and reads its head and tree.
    /// - Parameter bytes: exactly one block, as `BlockHeader.blockBytes` says.
    package init(_ bytes: ArraySlice<UInt8>) throws(RecordBlockError) {
        let count = try BlockHeader.blockBytes(bytes)
        let (header, headBytes) = try BlockHeader.read(bytes)
        self.header = header
        do throws(RecordBlockError) {
            guard bytes.count == count else {
                throw RecordBlockError(
                    bytes.count < count ? .truncated : .malformed, "it has \(count) bytes, \(bytes.count) are given")
            }
            guard
                headBytes + header.description.storedBytes + header.texts.storedBytes + header.columnBytes
                    + BlockHeader.checksumBytes == count
            else { throw .malformed("its sections do not add up to its \(count) bytes") }
            let content = bytes.dropLast(BlockHeader.checksumBytes)
            guard
                UInt32(littleEndian: bytes, at: count - BlockHeader.checksumBytes) == Deflate.checksum(content)
            else { throw RecordBlockError(.damaged, "it does not fit its checksum") }
            var sections = ByteReader(content.dropFirst(headBytes))
            let description = try Deflate.inflate(
                try sections.take(header.description.storedBytes), count: header.description.inflatedBytes)
            storedTexts = try sections.take(header.texts.storedBytes)
            columns = try sections.take(header.columnBytes)
            var reader = ByteReader(description[...])
            directory = try BlockDirectory(&reader, header: header)
            guard reader.left == 0 else { throw .malformed("\(reader.left) bytes follow the tree of columns") }
            try BlockReader.checkRoot(directory)
            decoded = Array(repeating: nil, count: directory.nodes.count)
            rowSets = Array(repeating: nil, count: directory.nodes.count)
        } catch {
            throw BlockReader.named(error, header)
        }
    }

    private static func named(_ error: RecordBlockError, _ header: BlockHeader) -> RecordBlockError {
        RecordBlockError(error.code, "\(header.name): \(error.message)")
    }

    /// The block's own message has a number and a time in each record, and a record in one of two forms.
    private static func checkRoot(_ directory: BlockDirectory) throws(RecordBlockError) {
        let fields = directory.nodes[BlockDirectory.root].children.map { directory.nodes[$0] }
        let forms = fields.map { ($0.field, $0.kind) }
        let expected: [(UInt32, FieldKind)] = [
            (FieldTree.Root.number, .varint), (FieldTree.Root.receivedAt, .varint), (FieldTree.Root.opaque, .bytes),
            (FieldTree.Root.record, .message),
        ]
        var next = expected[...]
        for form in forms {
            guard let place = next.firstIndex(where: { $0 == form }) else {
                throw .malformed("the tree of columns begins with field \(form.0)")
            }
            next = next[(place + 1)...]
        }
    }

    // MARK: - Whole records

    /// All that was packed.
    package mutating func block() throws(RecordBlockError) -> RecordBlock {
        RecordBlock(key: header.key, records: try records(), earliest: header.earliest, latest: header.latest)
    }

    /// The records, byte for byte as they were packed.
    package mutating func records() throws(RecordBlockError) -> BlockRecords {
        do throws(RecordBlockError) {
            for node in directory.nodes.indices where directory.nodes[node].column?.predictor != .rest {
                try decode(node)
            }
            for node in directory.nodes.indices { try decode(node) }
            let (numbers, times) = try (numbers(), receivedAt())
            let (bytes, ends) = try RecordWriter.write(
                directory, rows: rowSets.map { $0 ?? RowSet(rows: header.recordCount) },
                columns: decoded.map { $0?.values ?? 0..<0 }, store, try allTexts(), header)
            return BlockRecords(bytes: bytes, ends: ends, numbers: numbers, receivedAt: times)
        } catch {
            throw BlockReader.named(error, header)
        }
    }

    // MARK: - Columns

    /// The records' numbers, ascending.
    package mutating func numbers() throws(RecordBlockError) -> [UInt64] {
        let numbers = try rootColumn(FieldTree.Root.number)
        for place in numbers.indices.dropFirst() where numbers[place] <= numbers[place - 1] {
            throw .malformed("record \(numbers[place]) follows record \(numbers[place - 1])")
        }
        guard numbers.first.map({ $0 >= header.first }) ?? true, numbers.last.map({ $0 <= header.last }) ?? true else {
            throw .malformed("records have other numbers than the head says")
        }
        return numbers
    }

    /// When the collector received each record.
    package mutating func receivedAt() throws(RecordBlockError) -> [Int64] {
        try rootColumn(FieldTree.Root.receivedAt).map { Int64(bitPattern: $0) }
    }

    private mutating func rootColumn(_ field: UInt32) throws(RecordBlockError) -> [UInt64] {
        guard header.recordCount > 0 else { return [] }
        let fields = directory.nodes[BlockDirectory.root].children
        guard let node = fields.first(where: { directory.nodes[$0].field == field })
        else { throw .malformed("records have no field \(field)") }
        let column = try column(node)
        guard column.values.count == header.recordCount else {
            throw .malformed("\(column.values.count) of \(header.recordCount) records have field \(field)")
        }
        return Array(store[column.values])
    }

    /// The columns of a field, without decoding others than those that they are predicted from.
    /// - Parameter path: field numbers from the record inwards, for example [15, 4, 1].
    package mutating func columns(at path: [UInt32]) throws(RecordBlockError) -> ColumnSelection {
        do throws(RecordBlockError) {
            var selection = ColumnSelection()
            var unread = RowSet(rows: header.recordCount)
            func leave(_ rows: RowSet) { rows.forEach { if !unread.contains($0) { unread.insert($0) } } }
            var open: [(node: Int, ordinals: [Int])] = []
            for child in directory.nodes[BlockDirectory.root].children {
                if directory.nodes[child].field == FieldTree.Root.opaque { leave(try rows(child)) }
                if directory.nodes[child].field == FieldTree.Root.record { open.append((child, [])) }
            }
            for (depth, field) in path.enumerated() {
                var inner: [(node: Int, ordinals: [Int])] = []
                for (parent, ordinals) in open {
                    var ordinal = -1
                    for child in directory.nodes[parent].children where directory.nodes[child].field == field {
                        ordinal += 1
                        let node = directory.nodes[child]
                        if depth == path.count - 1 {
                            if node.kind != .message {
                                selection.columns.append(try selected(child, ordinals + [ordinal]))
                            }
                        } else if node.kind == .message {
                            inner.append((child, ordinals + [ordinal]))
                        } else if node.kind == .bytes {
                            leave(try rows(child))
                        }
                    }
                }
                open = inner
            }
            selection.unread = unread.rows
            return selection
        } catch {
            throw BlockReader.named(error, header)
        }
    }

    private mutating func selected(_ node: Int, _ ordinals: [Int]) throws(RecordBlockError) -> ColumnSelection.Column {
        let column = try column(node)
        let kind = directory.nodes[node].kind
        let rows = column.rows.rows
        if kind == .bytes {
            let texts = try allTexts()
            var found: [ArraySlice<UInt8>] = []
            for place in store[column.values] { found.append(texts.bytes[try texts.range(place, of: node)]) }
            return ColumnSelection.Column(ordinals: ordinals, rows: rows, content: .bytes(found))
        }
        var values = Array(store[column.values])
        if let decimals = directory.nodes[node].column?.decimals {
            for place in values.indices { values[place] = Decimals.bits(values[place], decimals) }
        }
        let content: ColumnSelection.Content =
            switch kind {
            case .fixed64: .fixed64(values)
            case .fixed32: .fixed32(values.map { UInt32(truncatingIfNeeded: $0) })
            default: .varint(values)
            }
        return ColumnSelection.Column(ordinals: ordinals, rows: rows, content: content)
    }

    // MARK: - Decoding

    /// A column, after those that it needs.
    private mutating func column(_ node: Int) throws(RecordBlockError) -> DecodedColumn {
        if let known = decoded[node] { return known }
        // Each names one before it, so the way ends; the rest of a message needs its siblings.
        var needed: [Int] = [node]
        var next = 0
        var seen: Set<Int> = [node]
        while next < needed.count {
            let column = directory.nodes[needed[next]].column
            var others: [Int] = []
            if column?.predictor == .rest {
                others = siblings(of: needed[next])
            } else if let column {
                others = column.others.map(\.node)
            }
            for other in others where decoded[other] == nil && seen.insert(other).inserted { needed.append(other) }
            next += 1
        }
        for place in needed.sorted() where place != node { try decode(place) }
        try decode(node)
        guard let found = decoded[node] else { throw .malformed("column \(node) is a message") }
        return found
    }

    /// The whole numbers of the same message.
    private func siblings(of node: Int) -> [Int] {
        directory.nodes[directory.nodes[node].parent].children.filter {
            $0 != node && directory.nodes[$0].kind == .varint
        }
    }

    /// The records that have a field.
    private mutating func rows(_ node: Int) throws(RecordBlockError) -> RowSet {
        if let known = rowSets[node] { return known }
        if directory.nodes[node].column != nil { return try column(node).rows }
        var chain = [node]
        while let last = chain.last, last != BlockDirectory.root, rowSets[last] == nil {
            chain.append(directory.nodes[last].parent)
        }
        for place in chain.reversed() where rowSets[place] == nil { rowSets[place] = try presence(place) }
        guard let found = rowSets[node] else { throw .malformed("column \(node) is not there") }
        return found
    }

    private func presence(_ node: Int) throws(RecordBlockError) -> RowSet {
        guard node != BlockDirectory.root else { return RowSet(rows: header.recordCount, filled: true) }
        let entry = directory.nodes[node]
        guard let parentRows = rowSets[entry.parent] else { throw .malformed("column \(node) has no message") }
        guard entry.presence == .marked else { return parentRows }
        var rows = RowSet(rows: header.recordCount)
        stream(entry).withUnsafeBufferPointer { bytes in
            var decoder = RangeDecoder(bytes)
            var marks = PresenceModel()
            parentRows.forEach { if marks.decode(&decoder) { rows.insert($0) } }
        }
        return rows
    }

    private func stream(_ node: BlockDirectory.Node) -> ArraySlice<UInt8> {
        let start = columns.startIndex + node.streamOffset
        return columns[start..<(start + node.streamBytes)]
    }

    /// Decodes a node whose other columns are decoded.
    private mutating func decode(_ node: Int) throws(RecordBlockError) {
        let entry = directory.nodes[node]
        guard let coding = entry.column else {
            _ = try rows(node)
            return
        }
        guard decoded[node] == nil else { return }
        let parentRows = try rows(entry.parent)
        guard entry.kind != .bytes || coding.textCount > 0 || parentRows.count == 0 else {
            throw .malformed("column \(node) has no texts")
        }
        let others = try others(of: node, coding)
        let start = store.count
        var rows = parentRows
        if coding.isConstant {
            store.append(contentsOf: repeatElement(coding.base, count: parentRows.count))
        } else {
            // The store leaves for the time, so that the values can be appended in place.
            var values = store
            store = []
            if entry.presence != .always { rows = RowSet(rows: header.recordCount) }
            stream(entry).withUnsafeBufferPointer { bytes in
                var decoder = RangeDecoder(bytes)
                var marks = PresenceModel()
                let model = ValueModel(lengths: coding.lengths)
                var prediction = Prediction(coding.predictor, base: coding.base, unit: coding.unit)
                parentRows.forEach { row in
                    if entry.presence == .marked, !marks.decode(&decoder) { return }
                    let value = prediction.value(model.decode(&decoder), others?[row] ?? 0)
                    if entry.presence != .always {
                        if entry.presence == .unlessZero, value == 0 { return }
                        rows.insert(row)
                    }
                    values.append(value)
                }
            }
            store = values
        }
        // A field has a number and a value, each at least a byte; the block's own have none.
        guard store.count <= header.rawBytes / 2 + 3 * header.recordCount else {
            throw .malformed("the records would have more than \(header.rawBytes) bytes")
        }
        rowSets[node] = rows
        decoded[node] = DecodedColumn(rows: rows, values: start..<store.count)
    }

    /// What a column is predicted from, by record.
    private func others(of node: Int, _ coding: ColumnCoding) throws(RecordBlockError) -> [UInt64]? {
        let sources: [ColumnCoding.Other]
        switch coding.predictor {
        case .alongside, .increase, .accumulated: sources = coding.others
        case .rest: sources = siblings(of: node).map { ColumnCoding.Other(node: $0) }
        case .constant, .previous, .linear, .exclusiveOr, .level: return nil
        }
        var sums = [UInt64](repeating: 0, count: header.recordCount)
        for source in sources {
            guard let column = decoded[source.node] else {
                throw .malformed("column \(node) needs \(source.node), a later one")
            }
            var next = column.values.lowerBound
            column.rows.forEach { row in
                let value = store[next]
                sums[row] = source.isNegative ? sums[row] &- value : sums[row] &+ value
                next += 1
            }
        }
        return sums
    }

    private mutating func allTexts() throws(RecordBlockError) -> BlockTexts {
        if let texts { return texts }
        let bytes = try Deflate.inflate(storedTexts, count: header.texts.inflatedBytes)
        let found = try BlockTexts(bytes, directory)
        texts = found
        return found
    }
}

extension RecordBlock {
    /// Gives back what was packed.
    /// - Parameter bytes: exactly one block.
    /// - Throws: any code but `.invalid`. The message names the block as far as its head can be read.
    package init(unpacking bytes: ArraySlice<UInt8>) throws(RecordBlockError) {
        var reader = try BlockReader(bytes)
        self = try reader.block()
    }
}

/// The columns of one field, in the records of one block.
package struct ColumnSelection: Equatable, Sendable {
    /// One for each place that the field has in a record; more than one where it or a message around it is repeated.
    package var columns: [Column] = []
    /// The places of records whose columns do not tell: the record, or a message around the field, is stored as it
    /// is. Read these records whole.
    package var unread: [Int] = []

    package struct Column: Equatable, Sendable {
        /// For each field of the path, which of the fields with its number it is, from 0.
        package var ordinals: [Int]
        /// The places of the records that have it.
        package var rows: [Int]
        /// As many as `rows`.
        package var content: Content
    }

    package enum Content: Equatable, Sendable {
        /// Whole numbers as the wire has them: a negative `int64` is its complement, a `sint64` is in zigzag.
        case varint([UInt64])
        /// Bits of `Double`, or whole numbers.
        case fixed64([UInt64])
        case fixed32([UInt32])
        case bytes([ArraySlice<UInt8>])
    }
}

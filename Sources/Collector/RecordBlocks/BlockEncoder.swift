extension RecordBlock {
    /// Packs the block.
    ///
    /// The block is read back before it is returned. A record that does not come back byte for byte is kept as it
    /// is, and the block is made once more.
    /// - Throws: `.invalid` if numbers do not ascend or a name is too long, `.limitExceeded` if it is too much for one
    ///   block; put less into it.
    package func pack() throws(RecordBlockError) -> [UInt8] {
        try check()
        var opaque: Set<Int> = []
        for _ in 0..<3 {
            let block = try encoded(keeping: opaque)
            let found = try RecordBlock(unpacking: block[...])
            if found == self {
                guard block.count > records.rawBytes / BlockEncoder.poorRatio, opaque.count < records.count else {
                    return block
                }
                // Columns that save little may cost more than they save.
                let plain = try encoded(keeping: Set(0..<records.count))
                guard plain.count < block.count, try RecordBlock(unpacking: plain[...]) == self else { return block }
                return plain
            }
            let wrong = (0..<records.count).filter {
                !found.records.ends.indices.contains($0) || found.records[$0] != records[$0]
            }
            opaque = opaque.isEmpty && !wrong.isEmpty ? Set(wrong) : Set(0..<records.count)
        }
        throw RecordBlockError(.invalid, "the packed records are not those that were packed: a fault of this program")
    }

    private func encoded(keeping opaque: Set<Int>) throws(RecordBlockError) -> [UInt8] {
        var encoder = BlockEncoder(self, keeping: opaque)
        return try encoder.bytes()
    }

    private func check() throws(RecordBlockError) {
        guard key.module.count <= Key.maximumModuleBytes else {
            throw RecordBlockError(
                .invalid, "a module's name has \(key.module.count) bytes, at most \(Key.maximumModuleBytes) may be")
        }
        guard records.count <= BlockLimits.records, records.rawBytes <= BlockLimits.rawBytes else {
            throw RecordBlockError(
                .limitExceeded,
                """
                \(records.count) records with \(records.rawBytes) bytes are too much for a block. It may have \
                \(BlockLimits.records) and \(BlockLimits.rawBytes). Put less into it.
                """)
        }
        for place in records.numbers.indices.dropFirst() where records.numbers[place] <= records.numbers[place - 1] {
            throw RecordBlockError(
                .invalid,
                "record \(records.numbers[place]) follows record \(records.numbers[place - 1]): numbers must ascend")
        }
    }
}

/// Makes the bytes of a block.
struct BlockEncoder {
    private let block: RecordBlock
    private let tree: FieldTree
    private(set) var directory = BlockDirectory()
    private(set) var planner: ColumnPlanner
    /// The directory's nodes by the tree's.
    private var order: [Int] = []

    /// If columns take more than this share of the bytes, the encoder tries without columns too.
    static let poorRatio = 3

    init(_ block: RecordBlock, keeping opaque: Set<Int>) {
        self.block = block
        tree = FieldTree(block.records, keeping: opaque.contains)
        planner = ColumnPlanner(rowCount: block.records.count)
    }

    mutating func bytes() throws(RecordBlockError) -> [UInt8] {
        let all = tree.nodes[FieldTree.root].rows
        plan(FieldTree.root, parent: 0, parentRows: all, all.rows)
        planner.finish()

        var columns: [UInt8] = []
        var texts = ByteWriter()
        var next = planner.columns[...]
        for (index, place) in order.enumerated() {
            let node = tree.nodes[place]
            let parent = parents[index]
            let parentRows = tree.nodes[order[parent]].rows
            var entry = BlockDirectory.Node(
                field: node.field, kind: node.kind,
                presence: node.rows.count == parentRows.count ? .always : .marked, parent: parent)
            let stream: [UInt8]
            if node.kind == .message {
                stream = entry.presence == .always ? [] : Self.marks(node.rows, in: parentRows)
            } else {
                guard let column = next.popFirst() else { break }
                entry.presence = column.presence
                entry.column = column.coding
                stream = Self.stream(column, node.rows, in: parentRows, planner.others(of: column))
                if node.kind == .bytes { write(node.texts, &texts) }
            }
            entry.streamBytes = stream.count
            columns += stream
            directory.append(entry)
        }

        var description = ByteWriter()
        directory.write(&description)
        guard description.written.count <= BlockLimits.descriptionBytes else {
            throw RecordBlockError(
                .limitExceeded,
                """
                columns take \(description.written.count) bytes, at most \
                \(BlockLimits.descriptionBytes) may be. Put less into a block.
                """)
        }
        let storedDescription = try Deflate.compress(description.written)
        let storedTexts = try Deflate.compress(texts.written)
        var header = BlockHeader(block)
        header.description = .init(
            storedBytes: storedDescription.count, inflatedBytes: description.written.count)
        header.texts = .init(storedBytes: storedTexts.count, inflatedBytes: texts.written.count)
        header.columnBytes = columns.count
        return try header.assemble(description: storedDescription, texts: storedTexts, columns: columns)
    }

    private var parents: [Int] = []

    /// Plans a node and what is below it, in preorder. A node that no record has is left out.
    private mutating func plan(_ place: Int, parent: Int, parentRows: RowSet, _ parentRowList: [Int]) {
        let node = tree.nodes[place]
        guard node.rows.count > 0 || place == FieldTree.root else { return }
        let index = order.count
        order.append(place)
        parents.append(parent)
        guard node.kind == .message else {
            planner.add(
                node, index: index, parent: parent, parentRows: parentRows, parentRowList: parentRowList)
            return
        }
        let rows = node.rows.rows
        for child in node.children { plan(child, parent: index, parentRows: node.rows, rows) }
    }

    private func write(_ texts: [Range<Int>], _ writer: inout ByteWriter) {
        for text in texts { writer.count(text.count) }
        for text in texts { writer.bytes(block.records.bytes[text]) }
    }

    private static func marks(_ rows: RowSet, in parentRows: RowSet) -> [UInt8] {
        var encoder = RangeEncoder()
        var marks = PresenceModel()
        parentRows.forEach { marks.encode(rows.contains($0), &encoder) }
        return encoder.finish()
    }

    private static func stream(
        _ column: ColumnPlanner.Column, _ rows: RowSet, in parentRows: RowSet, _ others: [UInt64]?
    ) -> [UInt8] {
        let coding = column.coding
        guard !coding.isConstant else { return [] }
        var encoder = RangeEncoder()
        var marks = PresenceModel()
        let model = ValueModel(lengths: coding.lengths)
        var prediction = Prediction(coding.predictor, base: coding.base, unit: coding.unit)
        var next = 0
        parentRows.forEach { row in
            if column.presence == .marked {
                marks.encode(rows.contains(row), &encoder)
                guard rows.contains(row) else { return }
            }
            var residual = prediction.wholeResidual(column.values[next], others?[row] ?? 0)
            if coding.predictor == .exclusiveOr {
                residual.magnitude >>= coding.unit
            } else {
                residual.magnitude /= coding.unit
            }
            model.encode(residual, &encoder)
            next += 1
        }
        return encoder.finish()
    }
}

/// Codes whether a field is there, by whether it was there before.
struct PresenceModel {
    private var models = [BitModel(), BitModel()]
    private var last = 1

    mutating func encode(_ isThere: Bool, _ encoder: inout RangeEncoder) {
        let bit = isThere ? 1 : 0
        encoder.encode(bit, &models[last])
        last = bit
    }

    mutating func decode(_ decoder: inout RangeDecoder) -> Bool {
        last = decoder.decode(&models[last])
        return last == 1
    }
}

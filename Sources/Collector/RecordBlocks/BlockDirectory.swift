/// The tree of a block's columns, as it is stored: which fields there are, and how each column is coded. The
/// entries are in preorder.
struct BlockDirectory {
    struct Node {
        var field: UInt32
        var kind: FieldKind
        var presence: Presence
        var parent: Int
        var children: [Int] = []
        /// `nil` for a message.
        var column: ColumnCoding?
        var streamBytes = 0
        /// Where its stream begins among those of all columns.
        var streamOffset = 0
    }

    /// Which of the records that have the message have the field.
    enum Presence: UInt8 {
        case always = 0
        /// A bit for each in the stream.
        case marked = 1
        /// Those in which the column's value is not zero. Protobuf leaves zeros out.
        case unlessZero = 2
    }

    private(set) var nodes: [Node] = []
    static let root = 0

    private static let hasStream: UInt8 = 1 << 5
    private static let leastEntryBytes = 3

    init() {}

    mutating func append(_ node: Node) {
        var node = node
        node.streamOffset = nodes.last.map { $0.streamOffset + $0.streamBytes } ?? 0
        nodes.append(node)
        if nodes.count > 1 { nodes[node.parent].children.append(nodes.count - 1) }
    }

    // MARK: - Bytes

    func write(_ writer: inout ByteWriter) {
        for node in nodes {
            let hasStream = node.presence == .marked || node.column.map { !$0.isConstant } ?? false
            writer.byte(
                node.kind.rawValue | node.presence.rawValue << 3 | (hasStream ? BlockDirectory.hasStream : 0))
            writer.varint(UInt64(node.field))
            guard let column = node.column else {
                writer.count(node.children.count)
                if hasStream { writer.count(node.streamBytes) }
                continue
            }
            if node.kind == .bytes { writer.count(column.textCount) }
            if node.kind == .fixed64 { writer.byte(column.decimals.map { $0 + 1 } ?? 0) }
            writer.varint(column.base)
            guard hasStream else { continue }
            writer.byte(column.predictor.rawValue)
            if column.predictor.needsOthers {
                writer.count(column.others.count)
                for other in column.others { writer.count(other.node << 1 | (other.isNegative ? 1 : 0)) }
            }
            writer.varint(column.unit)
            writer.byte(UInt8(column.lengths.lowerBound))
            writer.byte(UInt8(column.lengths.upperBound))
            writer.count(node.streamBytes)
        }
    }

    /// - Parameters:
    ///   - rowCount: the block's records.
    ///   - columnBytes: the bytes of all streams.
    init(_ reader: inout ByteReader, header: BlockHeader) throws(RecordBlockError) {
        let maximumNodes = min(BlockLimits.nodes, BlockLimits.cells / max(header.recordCount, 1))
        /// Messages whose children are not all read, with how many are missing.
        var open: [(node: Int, missing: Int)] = []
        repeat {
            guard nodes.count < maximumNodes else { throw .malformed("more than \(maximumNodes) columns") }
            let parent = open.last?.node ?? BlockDirectory.root
            let (node, children) = try BlockDirectory.entry(
                &reader, index: nodes.count, parent: parent, nodes, header.recordCount)
            append(node)
            if let last = open.indices.last { open[last].missing -= 1 }
            if node.kind == .message {
                guard open.count <= BlockLimits.depth else {
                    throw .malformed("messages are nested deeper than \(BlockLimits.depth)")
                }
                open.append((nodes.count - 1, children))
            }
            while open.last?.missing == 0 { open.removeLast() }
        } while !open.isEmpty
        guard let last = nodes.last, last.streamOffset + last.streamBytes == header.columnBytes else {
            throw .malformed("the columns do not add up to \(header.columnBytes) bytes")
        }
    }

    private static func entry(
        _ reader: inout ByteReader, index: Int, parent: Int, _ nodes: [Node], _ recordCount: Int
    ) throws(RecordBlockError) -> (Node, children: Int) {
        let form = try reader.byte()
        guard let kind = FieldKind(rawValue: form & 7), let presence = Presence(rawValue: form >> 3 & 3),
            form < hasStream << 1
        else { throw .malformed("a column has the unknown form \(form)") }
        let hasStream = form & hasStream != 0
        let field = try reader.count(atMost: 1 << 29 - 1, "as a field's number")
        var node = Node(field: UInt32(field), kind: kind, presence: presence, parent: parent)
        guard (index == root) == (field == 0), index != root || kind == .message && form == FieldKind.message.rawValue
        else { throw .malformed("the tree of columns has no root") }
        if kind == .message {
            guard presence != .unlessZero, hasStream == (presence == .marked) else {
                throw .malformed("a message has the form \(form)")
            }
            let children = try reader.count(atMost: reader.left / leastEntryBytes, "fields of a message")
            if hasStream { node.streamBytes = try streamBytes(&reader) }
            return (node, children)
        }
        var column = ColumnCoding()
        if kind == .bytes { column.textCount = try reader.count(atMost: recordCount, "texts") }
        if kind == .fixed64 {
            let decimals = try reader.byte()
            guard decimals <= ColumnCoding.maximumDecimals + 1 else { throw .malformed("\(decimals) decimals") }
            column.decimals = decimals == 0 ? nil : decimals - 1
        }
        column.base = try reader.varint()
        guard hasStream else {
            guard presence == .always else { throw .malformed("a column without a stream has the form \(form)") }
            node.column = column
            return (node, 0)
        }
        let predictor = try reader.byte()
        guard let known = Predictor(rawValue: predictor) else { throw .malformed("unknown predictor \(predictor)") }
        column.predictor = known
        if known.needsOthers {
            for _ in 0..<(try reader.count(atMost: ColumnCoding.maximumOthers, "other columns")) {
                let name = try reader.count(atMost: index << 1 - 1, "as the place of another column")
                let other = ColumnCoding.Other(node: name >> 1, isNegative: name & 1 == 1)
                guard let known = nodes[other.node].column, nodes[other.node].kind.isNumber, known.predictor != .rest
                else { throw .malformed("column \(index) is predicted by node \(other.node), which cannot be") }
                column.others.append(other)
            }
        }
        guard known != .rest || kind == .varint else { throw .malformed("column \(index) is no rest of numbers") }
        column.unit = try reader.varint()
        guard known == .exclusiveOr ? column.unit < 64 : column.unit > 0 else {
            throw .malformed("column \(index) has the unit \(column.unit)")
        }
        let (shortest, longest) = (Int(try reader.byte()), Int(try reader.byte()))
        guard shortest <= longest, longest <= 64 else {
            throw .malformed("residuals of \(shortest) to \(longest) bits")
        }
        column.lengths = shortest...longest
        column.isConstant = false
        node.streamBytes = try streamBytes(&reader)
        node.column = column
        return (node, 0)
    }

    private static func streamBytes(_ reader: inout ByteReader) throws(RecordBlockError) -> Int {
        try reader.count(atMost: BlockLimits.blockBytes, "bytes of a column")
    }
}

/// How a column of values is coded.
struct ColumnCoding: Equatable {
    /// All records that have the message have the base as value, and there is no stream.
    var isConstant = true
    var predictor = Predictor.constant
    /// The columns that the predictor asks: the sum of their values.
    var others: [Other] = []
    var base: UInt64 = 0
    var unit: UInt64 = 1
    /// Of residuals in bits.
    var lengths = 0...0
    /// Of 64-bit floating-point numbers: the column has the numbers times this power of ten, as integers. `nil`: it
    /// has their bits.
    var decimals: UInt8?
    /// Of bytes: how many there are.
    var textCount = 0

    static let maximumDecimals: UInt8 = 9
    static let maximumOthers = 4

    struct Other: Equatable {
        var node: Int
        var isNegative = false
    }
}

extension FieldKind {
    var isNumber: Bool { self == .varint || self == .fixed32 || self == .fixed64 }
}

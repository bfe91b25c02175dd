/// The fields of a block's records as a tree of columns, as the encoder gathers them.
///
/// ```
/// block (message)
///   1  number of the record        varint
///   2  time of receipt             varint
///   3  record that stays as it is  bytes
///   4  record                      message
///        1   varint   ┐
///        4   varint   │ the fields of the record, by number
///        15  message  ┘
///              4  message ...
/// ```
///
/// A field that a message has several times has a node for each. So a node has at most one value in a record.
struct FieldTree {
    struct Node {
        var field: UInt32
        var kind: FieldKind
        /// In the order of the bytes: by number, then by how many fields with this number were before it.
        var children: [Int] = []
        /// The records that have it.
        var rows: RowSet
        /// In the order of `rows`. Of bytes the place in `texts`.
        var values: [UInt64] = []
        var texts: [Range<Int>] = []
        /// The places in `texts` by their content.
        var places: [ArraySlice<UInt8>: Int] = [:]
    }

    /// The fields of the block's own message.
    enum Root {
        static let number: UInt32 = 1
        static let receivedAt: UInt32 = 2
        static let opaque: UInt32 = 3
        static let record: UInt32 = 4
    }

    private(set) var nodes: [Node] = []
    /// Of each node its place among its siblings: number, ordinal and kind in one.
    private var keys: [UInt64] = []
    private let rowCount: Int
    private let maximumNodes: Int
    private let votes: MessageVotes
    private let records: BlockRecords

    static let root = 0
    private static let number = 1
    private static let receivedAt = 2
    private static let opaque = 3
    private static let record = 4

    /// - Parameter opaque: records to keep as they are.
    init(_ records: BlockRecords, keeping opaque: (Int) -> Bool) {
        self.records = records
        rowCount = records.count
        maximumNodes = min(BlockLimits.nodes, BlockLimits.cells / max(rowCount, 1))
        votes = MessageVotes(records)
        func node(_ field: UInt32, _ kind: FieldKind, filled: Bool) -> Node {
            Node(field: field, kind: kind, rows: RowSet(rows: records.count, filled: filled))
        }
        nodes = [
            node(0, .message, filled: true), node(Root.number, .varint, filled: true),
            node(Root.receivedAt, .varint, filled: true), node(Root.opaque, .bytes, filled: false),
            node(Root.record, .message, filled: false),
        ]
        keys = nodes.map { FieldTree.key($0.field, 0, $0.kind) }
        nodes[FieldTree.root].children = [FieldTree.number, FieldTree.receivedAt, FieldTree.opaque, FieldTree.record]
        nodes[FieldTree.number].values = records.numbers
        nodes[FieldTree.receivedAt].values = records.receivedAt.map { UInt64(bitPattern: $0) }
        records.bytes.withUnsafeBufferPointer { bytes in
            var found: [Found] = []
            for row in 0..<records.count {
                let range = records.range(row)
                found.removeAll(keepingCapacity: true)
                if !opaque(row), place(bytes, range, at: FieldTree.record, votes.root, depth: 1, &found) {
                    nodes[FieldTree.record].rows.insert(row)
                    for item in found { add(item, row, bytes) }
                } else {
                    add(Found(node: FieldTree.opaque, value: 0, range: range), row, bytes)
                }
            }
        }
    }

    /// A field of the record at hand.
    private struct Found {
        var node: Int
        var value: UInt64
        var range: Range<Int>
    }

    private mutating func add(_ item: Found, _ row: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
        nodes[item.node].rows.insert(row)
        switch nodes[item.node].kind {
        case .varint, .fixed32, .fixed64: nodes[item.node].values.append(item.value)
        case .bytes: nodes[item.node].values.append(UInt64(place(of: item.range, in: item.node, bytes)))
        case .message: break
        }
    }

    private mutating func place(of text: Range<Int>, in node: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        if let last = nodes[node].values.last {
            let former = nodes[node].texts[Int(last)]
            var same = former.count == text.count
            var index = 0
            while same, index < text.count {
                same = bytes[former.lowerBound + index] == bytes[text.lowerBound + index]
                index += 1
            }
            if same { return Int(last) }
        }
        let content = records.bytes[text]
        if let place = nodes[node].places[content] { return place }
        let place = nodes[node].texts.count
        nodes[node].texts.append(text)
        nodes[node].places[content] = place
        return place
    }

    /// Finds the nodes of a message's fields, and makes those that are missing.
    /// - Returns: `false` if the record does not fit into a tree.
    private mutating func place(
        _ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, at parent: Int, _ vote: Int?, depth: Int,
        _ found: inout [Found]
    ) -> Bool {
        var scanner = CanonicalScanner(bytes, range)
        var next = 0
        var nextVote = 0
        var number: UInt32 = 0
        var ordinal: UInt32 = 0
        while let field = scanner.next() {
            ordinal = field.number == number ? ordinal + 1 : 0
            number = field.number
            if field.kind == .bytes, depth < BlockLimits.depth {
                let child = votes.child(of: vote, number, &nextVote)
                let (before, count) = (next, found.count)
                if votes.isMessage(child, bytes, field.range),
                    let node = node(&next, of: parent, number, ordinal, .message)
                {
                    found.append(Found(node: node, value: 0, range: field.range))
                    if place(bytes, field.range, at: node, child, depth: depth + 1, &found) { continue }
                    // It is no message after all.
                    found.removeLast(found.count - count)
                    next = before
                }
            }
            guard let node = node(&next, of: parent, number, ordinal, field.kind) else { return false }
            found.append(Found(node: node, value: field.value, range: field.range))
        }
        return scanner.isAtEnd
    }

    /// - Parameter next: the place among the children behind the field before.
    private mutating func node(
        _ next: inout Int, of parent: Int, _ number: UInt32, _ ordinal: UInt32, _ kind: FieldKind
    ) -> Int? {
        let key = FieldTree.key(number, ordinal, kind)
        while next < nodes[parent].children.count {
            let child = nodes[parent].children[next]
            guard keys[child] <= key else { break }
            next += 1
            if keys[child] == key { return child }
        }
        guard nodes.count < maximumNodes else { return nil }
        nodes.append(Node(field: number, kind: kind, rows: RowSet(rows: rowCount)))
        keys.append(key)
        nodes[parent].children.insert(nodes.count - 1, at: next)
        next += 1
        return nodes.count - 1
    }

    /// A field number has 29 bits, and a record less than 2^32 fields.
    private static func key(_ number: UInt32, _ ordinal: UInt32, _ kind: FieldKind) -> UInt64 {
        UInt64(number) << 35 | UInt64(ordinal) << 3 | UInt64(kind.rawValue)
    }
}

/// Which bytes are messages. The wire format does not tell, so records of the block vote, field by field: bytes
/// count as a message if most of them can be one, and not all of them are plain text.
struct MessageVotes {
    private struct Ballot {
        var field: UInt32
        var messages = 0
        var others = 0
        var texts = 0
        var children: [Int] = []
    }

    /// So many records vote, evenly spread.
    private static let voters = 256
    let root = 0
    private var ballots = [Ballot(field: 0)]
    /// For three others a field still counts as a message if nine are.
    private static let majority = 3

    init(_ records: BlockRecords) {
        records.bytes.withUnsafeBufferPointer { bytes in
            let voters = min(records.count, MessageVotes.voters)
            for voter in 0..<voters { vote(bytes, records.range(voter * records.count / voters), at: root, depth: 1) }
        }
    }

    /// - Parameter next: the place among the parent's ballots that was reached. Field numbers of a message ascend.
    func child(of parent: Int?, _ field: UInt32, _ next: inout Int) -> Int? {
        guard let parent else { return nil }
        while next < ballots[parent].children.count {
            let child = ballots[parent].children[next]
            if ballots[child].field == field { return child }
            if ballots[child].field > field { break }
            next += 1
        }
        return nil
    }

    /// Whether bytes are worth trying. For bytes on which nobody has voted, it asks themselves.
    func isMessage(_ index: Int?, _ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
        guard let index else { return !range.isEmpty && !MessageVotes.isText(bytes, range) }
        let ballot = ballots[index]
        return ballot.messages > ballot.others * MessageVotes.majority && ballot.texts < ballot.messages
    }

    private static func isText(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
        bytes[range].allSatisfy { (0x20...0x7E).contains($0) }
    }

    private mutating func vote(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, at parent: Int, depth: Int) {
        var scanner = CanonicalScanner(bytes, range)
        var next = 0
        while let field = scanner.next() {
            guard field.kind == .bytes, !field.range.isEmpty, depth < BlockLimits.depth else { continue }
            let index: Int
            if let known = child(of: parent, field.number, &next) {
                index = known
            } else {
                guard ballots.count < BlockLimits.nodes else { continue }
                index = ballots.count
                ballots.append(Ballot(field: field.number))
                ballots[parent].children.insert(index, at: next)
            }
            guard CanonicalScanner.isMessage(bytes, field.range) else {
                ballots[index].others += 1
                continue
            }
            ballots[index].messages += 1
            if MessageVotes.isText(bytes, field.range) { ballots[index].texts += 1 }
            vote(bytes, field.range, at: index, depth: depth + 1)
        }
    }
}

/// The head of a block: whose records it has, which, and where its sections are. It can be read and checked without
/// the rest, so an index is made of heads alone.
///
/// ```
/// "WS1B" | version 1 | bytes of the block 4 | checksum of the head 4 | bytes of the content 2 | content
/// ```
package struct BlockHeader: Equatable, Sendable {
    package var key: RecordBlock.Key
    package var recordCount: Int
    /// Of all records with four bytes of length each.
    package var rawBytes: Int
    /// The first and the last record's number. 0 and 0: none.
    package var first: UInt64
    package var last: UInt64
    package var earliest: Int64
    package var latest: Int64
    package var receivedFrom: Int64
    package var receivedTo: Int64

    var description = Section()
    var texts = Section()
    var columnBytes = 0

    struct Section: Equatable {
        var storedBytes = 0
        var inflatedBytes = 0
    }

    static let magic: [UInt8] = Array("WS1B".utf8)
    static let version: UInt8 = 1
    private static let lengthOffset = 5
    private static let checksumOffset = 9
    private static let contentLengthOffset = 13
    static let fixedBytes = 15
    static let checksumBytes = 4

    /// Names the block for people.
    package var name: String {
        let module = String(decoding: key.module, as: UTF8.self)
        return """
            block of device \(key.device), epoch \(key.epoch), stream \(key.stream), kind \(key.kind)\
            \(module.isEmpty ? "" : ", module \(module)"), numbers \(first) to \(last)
            """
    }

    /// How many bytes a block takes, from its first `headBytes`. For walking over blocks that lie one behind the
    /// other.
    /// - Throws: `.notABlock`, `.newerVersion`, `.truncated`, `.limitExceeded`. The checksum is not asked yet.
    package static func blockBytes(_ bytes: ArraySlice<UInt8>) throws(RecordBlockError) -> Int {
        guard bytes.prefix(magic.count).elementsEqual(magic.prefix(bytes.count)) else {
            throw RecordBlockError(.notABlock, "the bytes do not begin as a block of records does")
        }
        guard bytes.count >= fixedBytes + checksumBytes else {
            throw RecordBlockError(.truncated, "\(bytes.count) bytes are less than the head of a block")
        }
        let version = bytes[bytes.startIndex + magic.count]
        guard version == BlockHeader.version else {
            throw RecordBlockError(
                .newerVersion,
                "the block has version \(version), this program reads version \(BlockHeader.version). Use a newer one."
            )
        }
        let count = UInt32(littleEndian: bytes, at: lengthOffset)
        guard count >= fixedBytes + checksumBytes, count <= BlockLimits.blockBytes else {
            throw RecordBlockError(
                .limitExceeded, "a block cannot have \(count) bytes, at most \(BlockLimits.blockBytes)")
        }
        return Int(count)
    }

    /// Reads the head and checks it against its checksum.
    /// - Returns: the head, and how many bytes it takes.
    package static func read(_ bytes: ArraySlice<UInt8>) throws(RecordBlockError) -> (BlockHeader, Int) {
        _ = try blockBytes(bytes)
        let contentBytes = Int(UInt32(littleEndian: bytes, at: contentLengthOffset) & 0xFFFF)
        let end = fixedBytes + contentBytes
        guard bytes.count >= end else {
            throw RecordBlockError(.truncated, "the head of the block has \(end) bytes, \(bytes.count) are there")
        }
        let stored = UInt32(littleEndian: bytes, at: checksumOffset)
        guard stored == checksum(bytes.prefix(end)) else {
            throw RecordBlockError(.damaged, "the head of a block does not fit its checksum")
        }
        var reader = ByteReader(bytes.prefix(end).dropFirst(fixedBytes))
        let header = try BlockHeader(&reader)
        guard reader.left == 0 else { throw .malformed("the head of the block has \(reader.left) bytes too many") }
        return (header, end)
    }

    private static func checksum(_ head: ArraySlice<UInt8>) -> UInt32 {
        Deflate.checksum(head.prefix(checksumOffset) + head.dropFirst(checksumOffset + checksumBytes))
    }

    init(_ block: RecordBlock) {
        key = block.key
        recordCount = block.records.count
        rawBytes = block.records.rawBytes
        first = block.records.numbers.first ?? 0
        last = block.records.numbers.last ?? 0
        earliest = block.earliest
        latest = block.latest
        receivedFrom = block.records.receivedAt.min() ?? 0
        receivedTo = block.records.receivedAt.max() ?? 0
    }

    private init(_ reader: inout ByteReader) throws(RecordBlockError) {
        key = RecordBlock.Key(
            device: Bytes16(high: try reader.bigEndian(), low: try reader.bigEndian()),
            epoch: Bytes16(high: try reader.bigEndian(), low: try reader.bigEndian()), stream: try reader.varint(),
            kind: try reader.varint())
        let moduleBytes = try reader.count(atMost: RecordBlock.Key.maximumModuleBytes, "bytes of a module's name")
        key.module = Array(try reader.take(moduleBytes))
        recordCount = try reader.count(atMost: BlockLimits.records, "records")
        rawBytes = try reader.count(atMost: BlockLimits.rawBytes, "bytes of records")
        first = try reader.varint()
        last = try reader.varint()
        earliest = try reader.signed()
        latest = try reader.signed()
        receivedFrom = try reader.signed()
        receivedTo = try reader.signed()
        description.storedBytes = try reader.count(atMost: BlockLimits.blockBytes, "bytes")
        description.inflatedBytes = try reader.count(atMost: BlockLimits.descriptionBytes, "bytes")
        texts.storedBytes = try reader.count(atMost: BlockLimits.blockBytes, "bytes")
        // Each text is in a record, and its length before it.
        texts.inflatedBytes = try reader.count(atMost: rawBytes, "bytes of texts")
        columnBytes = try reader.count(atMost: BlockLimits.blockBytes, "bytes of columns")
        guard recordCount * BlockRecords.lengthBytes <= rawBytes else {
            throw .malformed("\(recordCount) records cannot have \(rawBytes) bytes")
        }
        guard first <= last else { throw .malformed("a block cannot have the numbers \(first) to \(last)") }
    }

    /// The whole block: this head, the sections, and the checksum.
    func assemble(description: [UInt8], texts: [UInt8], columns: [UInt8]) throws(RecordBlockError) -> [UInt8] {
        var content = ByteWriter()
        for word in [key.device.high, key.device.low, key.epoch.high, key.epoch.low] { content.bigEndian(word) }
        content.varint(key.stream)
        content.varint(key.kind)
        content.count(key.module.count)
        content.bytes(key.module)
        content.count(recordCount)
        content.count(rawBytes)
        content.varint(first)
        content.varint(last)
        for time in [earliest, latest, receivedFrom, receivedTo] { content.signed(time) }
        for section in [self.description, self.texts] {
            content.count(section.storedBytes)
            content.count(section.inflatedBytes)
        }
        content.count(columnBytes)

        let sections = description.count + texts.count + columns.count
        let total = BlockHeader.fixedBytes + content.written.count + sections + BlockHeader.checksumBytes
        guard total <= BlockLimits.blockBytes else {
            throw RecordBlockError(
                .limitExceeded,
                "the block would have \(total) bytes, at most \(BlockLimits.blockBytes) may be. Put less into it.")
        }
        var head = ByteWriter()
        head.bytes(BlockHeader.magic)
        head.byte(BlockHeader.version)
        head.littleEndian32(UInt32(total))
        let contentLength = [
            UInt8(truncatingIfNeeded: content.written.count), UInt8(truncatingIfNeeded: content.written.count >> 8),
        ]
        let rest = contentLength + content.written
        head.littleEndian32(Deflate.checksum(head.written[...] + rest))
        head.bytes(rest)
        head.bytes(description)
        head.bytes(texts)
        head.bytes(columns)
        head.littleEndian32(Deflate.checksum(head.written[...]))
        return head.written
    }
}

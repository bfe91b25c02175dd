import Crypto
import Encryption
import FoundationEssentials
import Gzip
import TelemetryBasics
import WireModel

/// The known facts about a sealed segment that need no inflating. Stored as `….index`; `Schemas/logs/FORMAT.md` defines
/// the format.
package struct SegmentIndex: Equatable, Sendable {
    /// A summary of adjacent lines.
    package struct Stretch: Equatable, Sendable {
        package var rawBytes: Int
        package var storedBytes: Int
        package var first: LogNumber
        package var lines: Int
        /// Times of the earliest and the latest line, in microseconds since 1970.
        package var times: ClosedRange<Int64>
        /// Lines per level, most severe first. Always four numbers.
        package var levelCounts: [UInt64]

        package init(
            rawBytes: Int, storedBytes: Int, first: LogNumber, lines: Int, times: ClosedRange<Int64>,
            levelCounts: [UInt64]
        ) {
            self.rawBytes = rawBytes
            self.storedBytes = storedBytes
            self.first = first
            self.lines = lines
            self.times = times
            self.levelCounts = levelCounts
        }
    }

    /// A gzip member and a summary of its lines.
    package struct Block: Equatable, Sendable {
        package var storedOffset: Int
        package var rawOffset: Int
        package var stretch: Stretch

        package init(storedOffset: Int, rawOffset: Int, stretch: Stretch) {
            self.storedOffset = storedOffset
            self.rawOffset = rawOffset
            self.stretch = stretch
        }
    }

    /// The greatest version that is read. An index of a plain segment is written in version 1.
    package static let version = 2

    /// The epoch of the store that numbered the lines.
    package var epoch: LogEpochID
    package var whole: Stretch
    /// The number of the last line.
    package var last: LogNumber
    /// SHA-256 of the text and of its gzip form, 32 bytes each. Of an encrypted segment they are in its file, because a
    /// digest confirms a guess of a short text; they are empty until they are read from there.
    package var rawDigest: Data
    package var storedDigest: Data
    /// The blocks in order. They cover the segment without a hole or an overlap. Offsets and bytes are those of the
    /// gzip form, also if the file is encrypted.
    package var blocks: [Block]
    /// The head of the run in which the segment is encrypted; `nil`: it was plain when the index was written.
    package var run: Data?

    package init(
        epoch: LogEpochID, whole: Stretch, last: LogNumber, rawDigest: Data, storedDigest: Data, blocks: [Block],
        run: Data? = nil
    ) {
        self.epoch = epoch
        self.whole = whole
        self.last = last
        self.rawDigest = rawDigest
        self.storedDigest = storedDigest
        self.blocks = blocks
        self.run = run
    }
}

/// The text form of `….index`; only this file knows it. Each value has exactly one text. A reader therefore writes what
/// it read again and compares; a difference means damage. The first line and the checksum look the same in every
/// version.
extension SegmentIndex {
    /// The longest possible index. A segment's 5,000,000 bytes of text make at most 153 blocks, each at least half
    /// full.
    package static let maximumTextBytes = 1 << 20

    private static let title = "ws1log-index "
    /// The first bytes of the index of an encrypted segment.
    static let encryptedStart = Array("\(title)2\n".utf8)
    private static let sumDigits = 32

    package var text: Data {
        var text = IndexWriter()
        text.line(Self.title.dropLast(), [run == nil ? 1 : 2])
        text.append("epoch ")
        text.append(epoch.data.hexadecimal)
        text.append(run.map { " run \($0.hexadecimal)\n" } ?? " key - nonce -\n")
        text.append(
            """
            lines \(whole.lines) first \(whole.first.value) last \(last.value) raw \(whole.rawBytes) stored \
            \(whole.storedBytes)\n
            """
        )
        text.append("times \(whole.times.lowerBound) \(whole.times.upperBound)\n")
        text.line("levels", whole.levelCounts)
        if run == nil {
            text.append("raw-sha256 \(rawDigest.hexadecimal)\nstored-sha256 \(storedDigest.hexadecimal)\n")
        }
        for block in blocks {
            text.line(
                "block",
                [
                    block.storedOffset, block.rawOffset, block.stretch.rawBytes, block.stretch.storedBytes,
                    Int(clamping: block.stretch.first.value), block.stretch.lines, Int(block.stretch.times.lowerBound),
                    Int(block.stretch.times.upperBound),
                ] + block.stretch.levelCounts.map { Int(clamping: $0) })
        }
        let sum = Self.sum(text.bytes[...])
        text.append("sum \(sum)\n")
        return Data(text.bytes)
    }

    /// - Parameter path: the file's path, for messages.
    /// - Throws: `.damaged` if the text is not what was written, `.newer` if it is intact and of a later version.
    package init(text: Data, path: String) throws(LogStoreError) {
        let bytes = [UInt8](text)
        func damaged(_ what: String) -> LogStoreError {
            LogStoreError(
                .damaged, "\(path) is damaged: \(what). `ws1log verify` tells what can be made anew from the segment.")
        }
        let sumLine = Array("sum ".utf8)
        let sumStart = bytes.count - sumLine.count - Self.sumDigits - 1
        guard sumStart > 0, bytes[sumStart - 1] == UInt8(ascii: "\n"), bytes[sumStart...].starts(with: sumLine),
            bytes[(sumStart + sumLine.count)...].elementsEqual("\(Self.sum(bytes[..<sumStart]))\n".utf8)
        else { throw damaged("its sum is not that of its content") }

        var reader = IndexReader(bytes: bytes[..<sumStart])
        guard reader.consume(Self.title), let version = reader.number(), reader.consume("\n") else {
            throw damaged("it is no index")
        }
        guard version <= Self.version else {
            throw LogStoreError(
                .newer, "\(path) has version \(version), this program knows up to \(Self.version): update the program")
        }
        guard version > 0, let index = Self.read(&reader, isEncrypted: version == 2), index.text.elementsEqual(bytes)
        else {
            throw damaged("a line is not of the form")
        }
        guard index.addsUp else { throw damaged("its blocks do not add up to the whole") }
        self = index
    }

    private static func read(_ reader: inout IndexReader, isEncrypted: Bool) -> SegmentIndex? {
        guard reader.consume("epoch "), let epoch = reader.hexadecimal(bytes: 16).flatMap({ LogEpochID($0) }) else {
            return nil
        }
        var run: Data?
        if isEncrypted {
            guard reader.consume(" run "), let head = reader.hexadecimal(bytes: SealedLogRun.headBytes),
                reader.consume("\n")
            else { return nil }
            run = Data(head)
        } else if !reader.consume(" key - nonce -\n") {
            return nil
        }
        guard reader.consume("lines "), let lines = reader.number(), reader.consume(" first "),
            let first = reader.number(), reader.consume(" last "), let last = reader.number(),
            reader.consume(" raw "), let raw = reader.number(), reader.consume(" stored "),
            let stored = reader.number(), reader.consume("\ntimes "), let earliest = reader.number(),
            reader.consume(" "), let latest = reader.number(), earliest <= latest, reader.consume("\nlevels"),
            let levels = reader.numbers(4), reader.consume("\n")
        else { return nil }
        var digests: [UInt8] = []
        if !isEncrypted {
            guard reader.consume("raw-sha256 "), let rawDigest = reader.hexadecimal(bytes: 32),
                reader.consume("\nstored-sha256 "), let storedDigest = reader.hexadecimal(bytes: 32),
                reader.consume("\n")
            else { return nil }
            digests = rawDigest + storedDigest
        }
        var blocks: [Block] = []
        while !reader.isAtEnd {
            guard reader.consume("block"), let values = reader.numbers(12), reader.consume("\n"), values[6] <= values[7]
            else { return nil }
            blocks.append(
                Block(
                    storedOffset: values[0], rawOffset: values[1],
                    stretch: Stretch(
                        rawBytes: values[2], storedBytes: values[3], first: LogNumber(value: UInt64(values[4])),
                        lines: values[5],
                        times: Int64(values[6])...Int64(values[7]), levelCounts: values[8...].map { UInt64($0) })))
        }
        return SegmentIndex(
            epoch: epoch,
            whole: Stretch(
                rawBytes: raw, storedBytes: stored, first: LogNumber(value: UInt64(first)), lines: lines,
                times: Int64(earliest)...Int64(latest), levelCounts: levels.map { UInt64($0) }),
            last: LogNumber(value: UInt64(last)), rawDigest: Data(digests.prefix(32)),
            storedDigest: Data(digests.dropFirst(32)), blocks: blocks, run: run)
    }

    private static func sum(_ bytes: ArraySlice<UInt8>) -> String {
        Data(SHA256.hash(data: bytes).prefix(sumDigits / 2)).hexadecimal
    }

    /// Whether the blocks cover the segment: in text, file, numbers and levels.
    private var addsUp: Bool {
        // Whoever reads a block allocates as many bytes.
        let maximumBytes = InflateLimits.sealedSegment.maximumBytes
        var (stored, raw, lines) = (0, 0, 0)
        var levels: [UInt64] = [0, 0, 0, 0]
        for block in blocks {
            guard block.storedOffset == stored, block.rawOffset == raw, block.stretch.lines > 0,
                block.stretch.rawBytes <= maximumBytes, block.stretch.storedBytes <= maximumBytes,
                block.stretch.rawBytes >= block.stretch.lines, block.stretch.storedBytes > 0,
                block.stretch.first.value == whole.first.value + UInt64(lines),
                block.stretch.levelCounts.count == levels.count,
                let count = Self.sum(of: block.stretch.levelCounts), count <= UInt64(block.stretch.lines),
                // A block without a well-formed line has no times of its own.
                count == 0
                    || whole.times.contains(block.stretch.times.lowerBound)
                        && whole.times.contains(block.stretch.times.upperBound)
            else { return false }
            // No overflow: each summand is at most 1 << 62, and the sums are compared with the whole as they grow.
            stored += block.stretch.storedBytes
            raw += block.stretch.rawBytes
            lines += block.stretch.lines
            guard stored <= whole.storedBytes, raw <= whole.rawBytes, lines <= whole.lines else { return false }
            for level in levels.indices { levels[level] += block.stretch.levelCounts[level] }
        }
        return stored == whole.storedBytes && raw == whole.rawBytes && lines == whole.lines && lines > 0
            && levels == whole.levelCounts
            && last.value == whole.first.value + UInt64(lines) - 1
    }

    private static func sum(of counts: [UInt64]) -> UInt64? {
        var sum: UInt64 = 0
        for count in counts {
            let (next, overflow) = sum.addingReportingOverflow(count)
            guard !overflow else { return nil }
            sum = next
        }
        return sum
    }
}

/// Parses an index's text from front to back. Bad input yields `nil` or `false`, never a trap.
struct IndexReader {
    private var bytes: ArraySlice<UInt8>
    /// The greatest number an index may hold. Two of them can be added without overflow.
    private static let greatest = 1 << 62

    init(bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { bytes.isEmpty }

    /// Consumes the text if it comes next, and returns whether it did.
    mutating func consume(_ text: String) -> Bool {
        guard bytes.starts(with: text.utf8) else { return false }
        bytes = bytes.dropFirst(text.utf8.count)
        return true
    }

    /// Consumes a decimal number.
    mutating func number() -> Int? {
        var value = 0
        var end = bytes.startIndex
        while end < bytes.endIndex {
            let digit = bytes[end] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            guard value <= (Self.greatest - 9) / 10 else { return nil }
            value = value * 10 + Int(digit)
            end += 1
        }
        guard end > bytes.startIndex else { return nil }
        bytes = bytes[end...]
        return value
    }

    /// Consumes that many numbers, each after a space.
    mutating func numbers(_ count: Int) -> [Int]? {
        var values: [Int] = []
        values.reserveCapacity(count)
        for _ in 0..<count {
            guard consume(" "), let value = number() else { return nil }
            values.append(value)
        }
        return values
    }

    mutating func hexadecimal(bytes count: Int) -> [UInt8]? {
        guard bytes.count >= 2 * count else { return nil }
        var result: [UInt8] = []
        for position in stride(from: bytes.startIndex, to: bytes.startIndex + 2 * count, by: 2) {
            guard let high = Self.digit(bytes[position]), let low = Self.digit(bytes[position + 1]) else { return nil }
            result.append(high << 4 | low)
        }
        bytes = bytes.dropFirst(2 * count)
        return result
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// Builds an index's text.
struct IndexWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Adds a line: the word, then each number after a space.
    mutating func line(_ word: some StringProtocol, _ numbers: [some BinaryInteger]) {
        bytes.append(contentsOf: word.utf8)
        for number in numbers {
            bytes.append(UInt8(ascii: " "))
            bytes.append(contentsOf: String(number).utf8)
        }
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension SegmentIndex {
    /// Reads a sealed segment's index from its file.
    /// - Throws: `.notFound`, `.damaged`, `.newer`.
    package init(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        let path = directory.path(name, .index)
        try self.init(
            text: try OpenFile<LogStoreError>(reading: path).readWhole(maximumBytes: Self.maximumTextBytes), path: path)
        guard whole.first == LogNumber(segment: name.ordinal, position: 1) else {
            throw LogStoreError(
                .damaged,
                "\(path) is that of another segment. `ws1log verify` tells what can be made anew from the segment.")
        }
    }

    /// Writes and syncs the file under its partial name. The caller renames it.
    package func writePartial(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        let file = try OpenFile<LogStoreError>(replacing: directory.path(name.file(.index) + SegmentName.partialSuffix))
        try file.write([UInt8](text))
        try file.sync()
    }

    /// Replaces the file, for instance by a rebuilt index. The caller holds the store's lock.
    package func store(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        try writePartial(name, in: directory)
        try directory.rename(name.file(.index) + SegmentName.partialSuffix, to: name.file(.index))
        try directory.sync()
    }
}

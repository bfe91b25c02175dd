import FoundationEssentials
import WireModel

/// A summary of the lines of one segment in one stretch of a chunk's file. A stretch consists of whole gzip members and
/// whole lines, and can be inflated by itself. If none of its lines can match a query, it is not read.
///
/// On disk it has 64 bytes, little endian, in the order of the fields.
struct LogPiece: Equatable, Sendable {
    /// Offset of the stretch in the chunk's file.
    var storedOffset: UInt64
    var storedBytes: UInt32 = 0
    /// Bytes of text in the stretch.
    var rawBytes: UInt32 = 0
    /// The least and the greatest line number.
    var firstNumber: UInt64
    var lastNumber: UInt64
    var leastTime: Int64
    var greatestTime: Int64
    /// Lines by level, most severe first.
    var levels = SIMD4<UInt32>()

    static let encodedBytes = 64

    init(storedOffset: UInt64, first line: LogLine) {
        self.storedOffset = storedOffset
        firstNumber = line.number.value
        lastNumber = line.number.value
        leastTime = line.time
        greatestTime = line.time
    }

    var times: ClosedRange<Int64> { leastTime...max(leastTime, greatestTime) }
    var levelCounts: [UInt64] { levels.indices.map { UInt64(levels[$0]) } }

    mutating func add(_ line: LogLine) {
        firstNumber = min(firstNumber, line.number.value)
        lastNumber = max(lastNumber, line.number.value)
        leastTime = min(leastTime, line.time)
        greatestTime = max(greatestTime, line.time)
        levels[line.level.rawValue - 1] += 1
    }

    // MARK: On disk

    private var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.encodedBytes)
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
        }
        append(storedOffset)
        append(storedBytes)
        append(rawBytes)
        append(firstNumber)
        append(lastNumber)
        append(leastTime)
        append(greatestTime)
        for place in levels.indices { append(levels[place]) }
        return bytes
    }

    static func encode(_ pieces: [LogPiece]) -> Data { Data(pieces.flatMap(\.encoded)) }

    /// No chunk's file is larger.
    private static let greatestOffset: UInt64 = 1 << 40

    /// `nil` if the bytes are no such list, or have numbers that no piece can have.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [LogPiece]? {
        guard bytes.count.isMultiple(of: encodedBytes) else { return nil }
        let pieces = stride(from: 0, to: bytes.count, by: encodedBytes).map { LogPiece(bytes, at: $0) }
        return pieces.allSatisfy { $0.storedOffset <= greatestOffset && $0.lastNumber < .max } ? pieces : nil
    }

    private init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        func number<Number: FixedWidthInteger>(_ place: Int) -> Number {
            Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + place, as: Number.self))
        }
        storedOffset = number(0)
        storedBytes = number(8)
        rawBytes = number(12)
        firstNumber = number(16)
        lastNumber = number(24)
        leastTime = number(32)
        greatestTime = number(40)
        levels = SIMD4(number(48), number(52), number(56), number(60))
    }
}

/// The summary of all pieces of one segment in a chunk.
struct LogRunSummary {
    private(set) var times: ClosedRange<Int64> = 0...0
    private(set) var levels: [UInt64] = [0, 0, 0, 0]
    private var isEmpty = true

    mutating func add(_ piece: LogPiece) {
        times =
            isEmpty ? piece.times : min(times.lowerBound, piece.leastTime)...max(times.upperBound, piece.greatestTime)
        isEmpty = false
        for (place, count) in piece.levelCounts.enumerated() { levels[place] += count }
    }
}

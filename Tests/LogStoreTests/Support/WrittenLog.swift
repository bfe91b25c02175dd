import Foundation
import Glibc
import Gzip
import Testing
import WireModel

@testable import LogStore

/// What lies in a store's directory, line by line, whether sealed or not.
struct WrittenLog {
    struct Line: Equatable {
        var time: Int64
        var level: LogLevel
        var number: LogNumber
        var category: String
        var message: String
        var metadata: String
        var kind: SegmentName.Kind
    }

    /// The lines by number.
    private(set) var lines: [Line] = []
    /// The lines that are no lines of the format.
    private(set) var faults: [String] = []
    private(set) var segments: [SegmentName] = []
    private(set) var sealed = 0

    init(_ directory: StoreDirectory) throws {
        for (name, parts) in try directory.segments().sorted(by: { $0.key < $1.key }) {
            segments.append(name)
            let isSealed = parts.contains(.index)
            sealed += isSealed ? 1 : 0
            let text = try Self.text(name, isSealed: isSealed, in: directory)
            if text.count > LogLimits.chunkBytes { faults.append("\(name): \(text.count) bytes") }
            var last: LogNumber?
            text.withUnsafeBytes { text in
                for slice in LineSlices(text) {
                    guard let line = Self.line(slice, name.kind), slice.last == UInt8(ascii: "\n") else {
                        faults.append("\(name): \(String(decoding: slice.prefix(200), as: UTF8.self))")
                        continue
                    }
                    let expected =
                        last.map { LogNumber(value: $0.value + 1) } ?? LogNumber(segment: name.ordinal, position: 1)
                    if line.number != expected {
                        faults.append("\(name): number \(line.number.value), not \(expected.value)")
                    }
                    if slice.count > LogLimits.lineBytes { faults.append("\(name): a line of \(slice.count) bytes") }
                    last = line.number
                    lines.append(line)
                }
            }
        }
    }

    /// From the bytes of the files as they are; through the reader where they are encrypted.
    private static func text(_ name: SegmentName, isSealed: Bool, in directory: StoreDirectory) throws -> Data {
        guard directory.keys == nil else {
            var text = Data()
            try SegmentReader.open(name, in: directory, inflater: BlockInflater()).read(
                0..<Int.max, where: { _ in true }
            ) { piece, _ in text.append(contentsOf: piece) }
            return text
        }
        let stored = try Data(contentsOf: URL(fileURLWithPath: directory.path(name, isSealed ? .sealed : .text)))
        guard isSealed else { return stored }
        return try GzipCodec.decompress(stored, limits: InflateLimits(maximumBytes: 6_000_000, maximumRatio: 2000))
    }

    var counts: LogLevelCounts {
        var counts = LogLevelCounts()
        for line in lines { counts[line.level] += 1 }
        return counts
    }

    /// Every byte that lies in the directory, inflated where it is compressed.
    static func everyByte(_ directory: StoreDirectory) throws -> Data {
        var all = Data()
        for file in try directory.names() {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path(file)))
            all += bytes
            if file.hasSuffix(".gz") {
                all += try GzipCodec.decompress(
                    bytes, limits: InflateLimits(maximumBytes: 6_000_000, maximumRatio: 2000))
            }
        }
        return all
    }

    private static func line(_ bytes: UnsafeRawBufferPointer, _ kind: SegmentName.Kind) -> Line? {
        guard let line = LogLine(bytes) else { return nil }
        func text(_ range: Range<Int>) -> String {
            String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
        }
        return Line(
            time: line.time, level: line.level, number: line.number, category: text(line.category),
            message: text(line.message),
            metadata: text(line.metadata), kind: kind)
    }
}

import Crypto
import FoundationEssentials
import Glibc
import Gzip
import RecordStore
import WireModel

/// The contents of a chunk: inflated once, never held as a whole, digested and indexed on the way.
struct ChunkScan: Sendable {
    private(set) var rawBytes = 0
    /// SHA-256 of the received bytes.
    private(set) var storedDigest = Data()
    /// Well-formed lines (`Schemas/logs/FORMAT.md`) by level, most severe first.
    private(set) var levels: [UInt64] = [0, 0, 0, 0]
    /// Malformed lines. They belong to the line before them.
    private(set) var otherLines = 0
    /// The numbers of all lines.
    private(set) var numbers: ClosedRange<UInt64>?
    private(set) var times: ClosedRange<Int64>?
    /// Pieces by segment, in the order of the file.
    private(set) var runs: [UInt64: [LogPiece]] = [:]

    /// A stretch with less text than this is joined with the next member.
    static let leastStretchBytes = LogLimits.blockBytes / 2
    /// More pieces are an attack on the index and no log: 5 MB of lines, each of another segment.
    static let maximumPieces = 32_768

    /// The most bytes that `text` bytes of log may have as gzip. A quota counts text, and must not be evaded by bytes
    /// that inflate to nothing (empty members and blocks, names in headers).
    ///
    /// A member has 18 bytes of its own. Deflate expands incompressible data by at most 5 bytes per 16 KiB and a few
    /// more. Our devices end a member only after whole lines, and the shortest line has 33 bytes. So even with one
    /// member per line, it is less than twice the text. The constant is what the smallest file occupies on a disk
    /// anyway; it leaves room for one member header of another sender.
    static func maximumStoredBytes(ofText bytes: Int) -> Int { 2 * bytes + 4096 }

    /// - Parameters:
    ///   - rawBytes: the required length of the text.
    ///   - rawDigest: the required SHA-256 of the text.
    /// - Throws: `.damaged` for anything else.
    init(_ stored: Data, rawBytes expected: Int, rawDigest: Data) throws(UploadError) {
        let maximum = Self.maximumStoredBytes(ofText: expected)
        guard stored.count <= maximum else {
            throw .damaged(
                "The chunk has \(stored.count) bytes for \(expected) of text; gzip of that has at most \(maximum).")
        }
        let scanner = Scanner()
        do throws(GzipError) {
            // The manifest limits the text, long before memory does. So the compression ratio does not matter; a log of
            // equal lines may be as small as deflate can make it.
            let decompressor = try GzipDecompressor(limits: InflateLimits(maximumBytes: expected, maximumRatio: .max))
            try stored.withContiguousBytes { (bytes) throws(GzipError) in
                try decompressor.update(
                    bytes, output: { scanner.scan($0) }, memberEnd: { scanner.memberEnded(storedEnd: $0) })
                try decompressor.finish()
            }
        } catch {
            throw error.code == .outOfMemory ? .store(StoreError(.overloaded, error.message)) : .damaged(error.message)
        }
        scanner.end(storedEnd: stored.count)
        guard scanner.scan.rawBytes == expected else {
            throw .damaged("The text has \(scanner.scan.rawBytes) bytes; the manifest says \(expected).")
        }
        guard Data(scanner.digest.finalize()) == rawDigest else {
            throw .damaged("The SHA-256 of the text differs from the manifest.")
        }
        guard scanner.pieces <= Self.maximumPieces else {
            throw .damaged(
                """
                The lines change between segments more often than \(Self.maximumPieces) times. Send them in the order \
                of their numbers.
                """
            )
        }
        self = scanner.scan
        storedDigest = Data(SHA256.hash(data: stored))
    }

    private init() {}

    /// Accepts the text in pieces of any size. A class, because decompressor and scan call it in turn.
    private final class Scanner {
        var scan = ChunkScan()
        var digest = SHA256()
        var pieces = 0

        /// A line whose end has not arrived.
        private var rest: [UInt8] = []
        private var stretchStored = 0
        private var stretchRaw = 0
        /// The present stretch, by segment.
        private var open: [UInt64: LogPiece] = [:]

        func scan(_ bytes: UnsafeRawBufferPointer) {
            digest.update(bufferPointer: bytes)
            scan.rawBytes += bytes.count
            var start = 0
            while start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
            {
                let end = base.distance(to: UnsafeRawPointer(found)) + 1
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                if rest.isEmpty {
                    line(part)
                } else {
                    rest.append(contentsOf: part)
                    rest.withUnsafeBytes { line($0) }
                    rest.removeAll(keepingCapacity: true)
                }
                start = end
            }
            if start < bytes.count { rest.append(contentsOf: bytes[start...]) }
        }

        func memberEnded(storedEnd: Int) {
            guard rest.isEmpty, scan.rawBytes - stretchRaw >= ChunkScan.leastStretchBytes else { return }
            endStretch(storedEnd: storedEnd)
        }

        func end(storedEnd: Int) {
            if !rest.isEmpty { rest.withUnsafeBytes { line($0) } }
            endStretch(storedEnd: storedEnd)
        }

        private func endStretch(storedEnd: Int) {
            for (segment, piece) in open where pieces <= ChunkScan.maximumPieces {
                var piece = piece
                piece.storedBytes = UInt32(clamping: storedEnd - stretchStored)
                piece.rawBytes = UInt32(clamping: scan.rawBytes - stretchRaw)
                scan.runs[segment, default: []].append(piece)
                pieces += 1
            }
            open.removeAll(keepingCapacity: true)
            (stretchStored, stretchRaw) = (storedEnd, scan.rawBytes)
        }

        private static func extended<Bound>(_ range: ClosedRange<Bound>?, to value: Bound) -> ClosedRange<Bound> {
            range.map { min($0.lowerBound, value)...max($0.upperBound, value) } ?? value...value
        }

        private func line(_ bytes: UnsafeRawBufferPointer) {
            guard let line = LogLine(bytes), line.number.value <= UInt64(Int64.max) else {
                scan.otherLines += 1
                return
            }
            scan.levels[line.level.rawValue - 1] += 1
            let number = line.number.value
            scan.numbers = Self.extended(scan.numbers, to: number)
            scan.times = Self.extended(scan.times, to: line.time)
            if open[line.number.segment]?.add(line) == nil, open.count <= ChunkScan.maximumPieces {
                var piece = LogPiece(storedOffset: UInt64(stretchStored), first: line)
                piece.add(line)
                open[line.number.segment] = piece
            }
        }
    }
}

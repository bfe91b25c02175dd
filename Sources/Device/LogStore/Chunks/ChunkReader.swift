import Crypto
import FoundationEssentials
import Gzip
import WireModel

/// Produces the bytes of planned chunks with a few blocks of memory. Not `Sendable`: use it from one thread at a time.
/// A chunk depends on its plan alone, so several readers can share the work.
package final class ChunkReader {
    package enum Form: String, Codable, Sendable {
        case plain, gzip
    }

    private let directory: StoreDirectory
    private let filter: LogFilter
    private let matcher: LogLineMatcher
    private let inflater: BlockInflater
    private let compressor: GzipCompressor

    package init(_ plan: ChunkPlan, in directory: StoreDirectory) throws(LogStoreError) {
        self.directory = directory
        filter = plan.filter
        matcher = LogLineMatcher(plan.filter)
        inflater = try BlockInflater()
        do { compressor = try GzipCompressor() } catch { throw LogStoreError(.io, error.message, cause: error) }
    }

    /// Writes the chunk to a sink and returns its digest. If the chunk is one whole sealed segment, its bytes are
    /// copied and the digest comes from sealing.
    /// - Throws: `.notFound` if a segment is gone, `.damaged` if its lines are not the planned ones, and what the sink
    ///   throws.
    /// - Returns: the number of bytes, and their SHA-256.
    package func write(
        _ chunk: ChunkPlan.Chunk, as form: Form, to sink: inout some ChunkSink
    ) throws(LogStoreError) -> (bytes: Int, digest: Data) {
        if form == .gzip, let digest = chunk.storedDigest, let bytes = chunk.storedBytes, let part = chunk.parts.first {
            let reader = try open(part)
            guard try reader.storedDigest() == digest else { throw changed(chunk) }
            try reader.copy(0..<bytes, to: &sink)
            return (bytes, digest)
        }
        var digesting = DigestChunkSink(sink)
        defer { sink = digesting.target }
        let rawBytes = try form == .plain ? writePlain(chunk, to: &digesting) : writeGzip(chunk, to: &digesting)
        let digest = digesting.digest
        guard rawBytes == chunk.rawBytes, form == .gzip || chunk.rawDigest == nil || chunk.rawDigest == digest else {
            throw changed(chunk)
        }
        return (digesting.bytes, digest)
    }

    /// The SHA-256 of a chunk's text.
    package func rawDigest(of chunk: ChunkPlan.Chunk) throws(LogStoreError) -> Data {
        if let digest = chunk.rawDigest { return digest }
        var sink = DiscardingChunkSink()
        return try write(chunk, as: .plain, to: &sink).digest
    }

    /// The gzip form of a chunk, if its text has a digest; `nil` if its text has another one.
    ///
    /// Reads the files once. The digest is computed from the bytes that are returned, so no later change of a file can
    /// slip in between. The digest of a whole sealed segment comes from sealing.
    /// - Throws: as ``write(_:as:to:)``.
    package func gzip(_ chunk: ChunkPlan.Chunk, ifTextHas rawDigest: Data) throws(LogStoreError) -> Data? {
        if let known = chunk.rawDigest, known != rawDigest { return nil }
        var sink = MemoryChunkSink()
        _ = try write(chunk, as: .gzip, to: &sink)
        guard chunk.rawDigest == nil else { return sink.data }
        var hash = SHA256()
        do throws(GzipError) {
            try GzipCodec.decompress(sink.data, limits: .sealedSegment) { hash.update(bufferPointer: $0) }
        } catch {
            throw changed(chunk)
        }
        return Data(hash.finalize()) == rawDigest ? sink.data : nil
    }

    private func writePlain(_ chunk: ChunkPlan.Chunk, to sink: inout some ChunkSink) throws(LogStoreError) -> Int {
        var bytes = 0
        for part in chunk.parts {
            let reader = try open(part)
            try readLines(part, reader) { (text) throws(LogStoreError) in
                bytes += text.count
                try sink.write(text)
            }
        }
        return bytes
    }

    private func writeGzip(_ chunk: ChunkPlan.Chunk, to sink: inout some ChunkSink) throws(LogStoreError) -> Int {
        var bytes = 0
        var waiting: [UInt8] = []
        for part in chunk.parts {
            let reader = try open(part)
            if part.isCopied {
                try compress(&waiting, downTo: 0, to: &sink)
                let range = try reader.storedRange(of: part.range)
                try reader.copy(range, to: &sink)
                bytes += part.bytes
                continue
            }
            try readLines(part, reader) { (text) throws(LogStoreError) in
                bytes += text.count
                waiting.append(contentsOf: text)
                try compress(&waiting, downTo: LogLimits.blockBytes, to: &sink)
            }
        }
        try compress(&waiting, downTo: 0, to: &sink)
        return bytes
    }

    /// Compresses whole blocks until at most `rest` bytes wait.
    private func compress(_ waiting: inout [UInt8], downTo rest: Int, to sink: inout some ChunkSink)
        throws(LogStoreError)
    {
        var start = 0
        while waiting.count - start > rest {
            let member = try waiting.withUnsafeBufferPointer { (buffer) throws(LogStoreError) -> [UInt8] in
                let text = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[start...])
                let block = UnsafeRawBufferPointer(
                    rebasing: text.prefix(LineSlices.blockBytes(text, limit: LogLimits.blockBytes)))
                start += block.count
                do throws(GzipError) { return try compressor.compress(block) } catch {
                    throw LogStoreError(.io, error.message, cause: error)
                }
            }
            try sink.write(member)
        }
        waiting.removeFirst(start)
    }

    /// Reads the matching lines of a part, adjacent ones together.
    private func readLines(
        _ part: ChunkPlan.Part, _ reader: SegmentReader, _ body: (UnsafeRawBufferPointer) throws(LogStoreError) -> Void
    ) throws(LogStoreError) {
        if part.isCopied || filter.isEverything {
            return try reader.read(part.range, where: { _ in true }) { (text, _) throws(LogStoreError) in try body(text)
            }
        }
        try reader.read(part.range, where: filter.mayMatch) { (text, _) throws(LogStoreError) in
            var (start, end, offset) = (0, 0, 0)
            for line in LineSlices(text) {
                if let fields = LogLine(line), matcher.matches(fields, in: line) {
                    if end < offset {
                        if start < end { try body(UnsafeRawBufferPointer(rebasing: text[start..<end])) }
                        start = offset
                    }
                    end = offset + line.count
                }
                offset += line.count
            }
            if start < end { try body(UnsafeRawBufferPointer(rebasing: text[start..<end])) }
        }
    }

    private func open(_ part: ChunkPlan.Part) throws(LogStoreError) -> SegmentReader {
        guard let name = part.name else {
            throw LogStoreError(
                .newer,
                "the chunks were planned by a newer version, which knows `\(part.kind)` segments: update the program")
        }
        do { return try SegmentReader.open(name, in: directory, inflater: inflater) } catch {
            guard error.code == .notFound else { throw error }
            throw LogStoreError(
                .notFound,
                """
                segment \(part.ordinal) is gone from \(directory.path): the store's limits removed it. Fetch again \
                what is there.
                """,
                cause: error)
        }
    }

    private func changed(_ chunk: ChunkPlan.Chunk) -> LogStoreError {
        LogStoreError(
            .damaged,
            """
            lines \(chunk.first) to \(chunk.last) in \(directory.path) are not those planned. `ws1log verify` tells \
            what is damaged.
            """
        )
    }
}

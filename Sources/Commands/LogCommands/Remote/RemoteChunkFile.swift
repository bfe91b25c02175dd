import FoundationEssentials
import Glibc
import Gzip
import LogStore
import TelemetryBasics
import WireModel

/// The chunk file that is being filled: lines go in, and at the end its digest and what it holds are known.
///
/// Not `Sendable`: one at a time fills it.
final class RemoteChunkFile {
    let order: Int
    let section: RemoteSection
    private(set) var rawBytes = 0
    private var lines = 0
    private var numbers: (first: UInt64, last: UInt64) = (0, 0)
    private var times: (earliest: Int64, latest: Int64) = (.max, .min)
    private let file: OpenFile<LogStoreError>
    private let compressor: GzipCompressor?
    private var sink: DigestChunkSink<FileChunkSink>

    /// - Parameters:
    ///   - section: whose application and type all its lines have.
    init(_ order: Int, of section: RemoteSection, in folder: ChunkFolder, isCompressed: Bool) throws {
        self.order = order
        self.section = section
        let path = folder.file(Self.name(order))
        file = try OpenFile<LogStoreError>(replacing: path)
        sink = DigestChunkSink(FileChunkSink(descriptor: file.descriptor, path: path))
        compressor = isCompressed ? try GzipCompressor() : nil
    }

    /// The name a file has until all are there: only then is it known of how many it is.
    static func name(_ order: Int) -> String { "chunk-\(order)\(SegmentName.partialSuffix)" }

    var isEmpty: Bool { rawBytes == 0 }

    func fits(_ bytes: Int) -> Bool { rawBytes + bytes <= LogLimits.chunkBytes }

    func add(_ line: UnsafeRawBufferPointer, _ fields: LogLine?) throws {
        rawBytes += line.count
        lines += 1
        if let fields {
            if numbers.first == 0 { numbers.first = fields.number.value }
            numbers.last = fields.number.value
            times = (min(times.earliest, fields.time), max(times.latest, fields.time))
        }
        guard let compressor else { return try sink.write(line) }
        try compress { (output) throws(GzipError) in try compressor.update(line, output: output) }
    }

    /// - Parameter end: what comes after its last line.
    func finish(at end: RemoteFetchPosition) throws -> RemoteFetchChunk {
        if let compressor { try compress { (output) throws(GzipError) in try compressor.finish(output: output) } }
        return RemoteFetchChunk(
            order: order, application: section.application, type: section.type, bytes: sink.bytes, sha256: sink.digest,
            rawBytes: rawBytes,
            lines: lines, firstLine: numbers.first, lastLine: numbers.last, earliest: min(times.earliest, times.latest),
            latest: max(times.earliest, times.latest), end: end)
    }

    private func compress(_ step: ((UnsafeRawBufferPointer) -> Void) throws(GzipError) -> Void) throws {
        var failure: LogStoreError?
        try step { output in
            guard failure == nil else { return }
            do throws(LogStoreError) { try sink.write(output) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

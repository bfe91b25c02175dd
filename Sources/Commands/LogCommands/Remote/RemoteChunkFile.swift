import FoundationEssentials
import LogStore
import TelemetryBasics
import WireModel

/// The chunk file that is being filled. At the end it gives the digest and a summary of the lines.
///
/// Not `Sendable`: one task at a time fills it.
final class RemoteChunkFile {
    let order: Int
    let section: RemoteSection
    private var rawBytes = 0
    private var lines = 0
    private var numbers: (first: UInt64, last: UInt64) = (0, 0)
    private var times: (earliest: Int64, latest: Int64) = (.max, .min)
    private let file: OpenFile<LogStoreError>
    private var sink: TextSink<DigestChunkSink<FileChunkSink>>

    /// - Parameter section: gives the application and the type of all lines.
    init(_ order: Int, of section: RemoteSection, in folder: ChunkFolder, isCompressed: Bool) throws {
        self.order = order
        self.section = section
        let path = folder.file(Self.name(order))
        file = try OpenFile<LogStoreError>(replacing: path)
        sink = try TextSink(
            DigestChunkSink(FileChunkSink(descriptor: file.descriptor, path: path)), isCompressed: isCompressed)
    }

    /// The name of a file until all files are written. The final name says how many files there are.
    static func name(_ order: Int) -> String { "chunk-\(order)\(SegmentName.partialSuffix)" }

    func fits(_ bytes: Int) -> Bool { rawBytes + bytes <= LogLimits.chunkBytes }

    func add(_ line: UnsafeRawBufferPointer, _ fields: LogLine?) throws {
        rawBytes += line.count
        lines += 1
        if let fields {
            if numbers.first == 0 { numbers.first = fields.number.value }
            numbers.last = fields.number.value
            times = (min(times.earliest, fields.time), max(times.latest, fields.time))
        }
        try sink.write(line)
    }

    /// - Parameter end: the position after the last line.
    func finish(at end: RemoteFetchPosition) throws -> RemoteFetchChunk {
        try sink.finish()
        return RemoteFetchChunk(
            order: order, device: section.device, application: section.application, type: section.type,
            bytes: sink.target.bytes,
            sha256: sink.target.digest, rawBytes: rawBytes, lines: lines, firstLine: numbers.first,
            lastLine: numbers.last, earliest: min(times.earliest, times.latest),
            latest: max(times.earliest, times.latest), end: end)
    }
}

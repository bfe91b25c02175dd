import WireModel

/// The chunks of a log, in order, each read when it is asked for. One after the other they hold exactly the lines asked for, byte for byte; an
/// empty log has none. Iterating changes nothing in the store and may be done again.
///
/// A value; the plan is made once, so what is written meanwhile is not part of it.
public struct LogChunks: AsyncSequence, Sendable {
    /// A chunk, whole.
    public typealias Element = LogChunk
    /// What reading a chunk can throw.
    public typealias Failure = LogStoreError

    package let plan: ChunkPlan
    private let directory: StoreDirectory
    private let name: ChunkName
    private let form: ChunkReader.Form

    package init(_ plan: ChunkPlan, in directory: StoreDirectory, name: ChunkName, form: ChunkReader.Form) {
        self.plan = plan
        self.directory = directory
        self.name = name
        self.form = form
    }

    /// How many there are.
    public var count: Int { plan.chunks.count }

    /// Reads one chunk; on the calling thread, in about the time of reading and inflating 5 MB.
    ///
    /// - Parameter position: from 0, less than `count`.
    /// - Throws: `LogStoreError`: `.notFound` where the store's limits removed its lines meanwhile, `.damaged` where they are not what was
    ///   written.
    public func chunk(at position: Int) throws(LogStoreError) -> LogChunk {
        try chunk(at: position, by: try ChunkReader(plan, in: directory))
    }

    private func chunk(at position: Int, by reader: ChunkReader) throws(LogStoreError) -> LogChunk {
        let planned = plan.chunks[position]
        var sink = MemoryChunkSink()
        let digest = try reader.write(planned, as: form, to: &sink).digest
        return LogChunk(
            data: sink.data,
            suggestedFileName: name.file(
                position + 1, of: count, type: planned.type, earliest: planned.earliest, isCompressed: form == .gzip),
            type: planned.type, lines: planned.first...planned.last, rawBytes: planned.rawBytes, digest: digest)
    }

    /// From the first chunk on.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    /// Reads chunk after chunk.
    public struct Iterator: AsyncIteratorProtocol {
        let chunks: LogChunks
        var position = 0
        var reader: ChunkReader?

        /// `nil` after the last.
        ///
        /// - Throws: as `chunk(at:)`; the next call goes on with the chunk after it.
        public mutating func next() async throws(LogStoreError) -> LogChunk? {
            try await next(isolation: nil)
        }

        /// `nil` after the last.
        ///
        /// - Throws: as `chunk(at:)`; the next call goes on with the chunk after it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LogStoreError) -> LogChunk? {
            guard position < chunks.count else { return nil }
            if reader == nil { reader = try ChunkReader(chunks.plan, in: chunks.directory) }
            position += 1
            return if let reader { try chunks.chunk(at: position - 1, by: reader) } else { nil }
        }
    }
}

import FoundationEssentials
import WireModel

/// The chunks of a log, in order, each read when it is asked for. One after the other they hold exactly the lines asked
/// for, byte for byte; an empty log has none. Iterating changes nothing in the store and may be done again.
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
    /// - Throws: `LogStoreError`: `.notFound` where the store's limits removed its lines meanwhile, `.damaged` where
    ///   they are not what was written.
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

/// Lines of a log that are fetched together: at most 5,000,000 bytes of UTF-8 text, cut at line ends.
public struct LogChunk: Sendable {
    /// The text, or the same compressed (gzip), as was asked for.
    public let data: Data
    /// `<app>-<device>-<type>-<first time UTC>-<n>of<count>.log[.gz]`, safe on any file system; sorted by name chunks
    /// are in order.
    public let suggestedFileName: String
    /// What kind of log its lines belong to.
    public let type: LogType
    /// Numbers of its first and last line in the store.
    public let lines: ClosedRange<UInt64>
    /// Length of the text, whether `data` is compressed or not.
    public let rawBytes: Int
    /// SHA-256 of `data`.
    public let digest: Data
}

extension LogStore {
    /// The lines that are in the store now, in chunks of at most 5,000,000 bytes. What is logged later is not part of
    /// it; nothing is deleted.
    ///
    ///     for try await chunk in try store.fetchSDKLogChunks(device: "kiosk-7") {
    ///         try chunk.data.write(to: folder.appending(path: chunk.suggestedFileName))
    ///     }
    ///
    /// The name is that of the Workspace ONE SDK's `WS1SDKDataProvider`. Waits for the disk.
    ///
    /// - Parameters:
    ///   - device: names the device in file names; any text.
    ///   - level: this and all that is more severe.
    ///   - type: `nil`: both.
    ///   - since: from this time on; `nil`: from the beginning.
    ///   - until: to before this time; `nil`: to the end.
    ///   - isCompressed: whether chunks are gzip; sealed segments are copied then, not compressed again.
    /// - Throws: `LogStoreError`, with the first segment that cannot be read.
    public func fetchSDKLogChunks(
        device: String, level: LogLevel = .verbose, type: LogType? = nil, since: Date? = nil, until: Date? = nil,
        isCompressed: Bool = false
    ) throws(LogStoreError) -> LogChunks {
        flush()
        let kinds = Set([SegmentName.Kind.application, .crash].filter { type == nil || $0.type == type })
        let snapshot = try StoreSnapshot(directory, kinds: kinds, epoch: try directory.readState()?.epoch ?? .unknown)
        var problems = snapshot.problems
        let filter = LogFilter(level: level, since: since.map(Self.microseconds), until: until.map(Self.microseconds))
        let plan = try ChunkPlan(snapshot, filter: filter, problems: &problems)
        if let problem = problems.first { throw problem.error }
        return LogChunks(
            plan, in: directory, name: ChunkName(application: applicationName, device: device),
            form: isCompressed ? .gzip : .plain)
    }

    private static func microseconds(_ date: Date) -> Int64 {
        Int64((date.timeIntervalSince1970 * 1_000_000).rounded())
    }
}

/// The name a chunk is suggested to be stored under: `<app>-<device>-<type>-<first time UTC>-<n>of<count>.log[.gz]`,
/// safe on any file system, and sorted by name as the chunks are in order.
package struct ChunkName: Sendable {
    /// Of a name of an application or device, at most; whole names stay well below the 255 bytes a file system takes.
    private static let maximumBytes = 64

    private let prefix: String

    /// - Parameters:
    ///   - application: any text; what is not a letter, digit, `.`, `_` or `-` of ASCII becomes `_`.
    ///   - device: likewise.
    package init(application: String, device: String) {
        prefix = "\(Self.safe(application))-\(Self.safe(device))"
    }

    /// - Parameters:
    ///   - number: from 1.
    ///   - count: of all chunks; numbers are padded with zeros to its length.
    package func file(_ number: Int, of count: Int, type: LogType, earliest: Int64, isCompressed: Bool) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, String(count).utf8.count - digits.utf8.count)) + digits
        // 2026-11-21T23:51:28.123456Z -> 20261121T235128Z
        let time = LogTime.text(earliest).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        return "\(prefix)-\(type.rawValue)-\(time)-\(padded)of\(count).log\(isCompressed ? ".gz" : "")"
    }

    private static func safe(_ name: String) -> String {
        let safe = name.utf8.prefix(maximumBytes).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        // Neither hidden nor taken for an option.
        let text = String(decoding: safe, as: UTF8.self)
        return text.isEmpty || text.hasPrefix(".") || text.hasPrefix("-") ? "_" + text.dropFirst() : text
    }
}

import FoundationEssentials
import TelemetryBasics
import WireModel

/// The chunks of a log, in order. Each is read on demand. Joined, they hold exactly the lines asked for, byte for byte;
/// an empty log has no chunk. Iterating changes nothing in the store and may be repeated.
///
/// This is a value. Its plan is made once, so lines written later are not part of it.
public struct LogChunks: AsyncSequence, Sendable {
    /// One whole chunk.
    public typealias Element = LogChunk
    /// The error that reading a chunk can throw.
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

    /// The number of chunks.
    public var count: Int { plan.chunks.count }

    /// Reads one chunk on the calling thread. It takes about as long as reading and inflating 5 MB.
    ///
    /// - Parameter position: from 0, less than `count`.
    /// - Throws: `LogStoreError`: `.notFound` if the store's limits removed its lines meanwhile, `.damaged` if the
    ///   lines are not those that were written.
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
                position + 1, of: count, planned, isCompressed: form == .gzip),
            type: planned.type, application: planned.application ?? "", lines: planned.first...planned.last,
            rawBytes: planned.rawBytes, digest: digest)
    }

    /// Starts at the first chunk.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    /// Reads chunk after chunk.
    public struct Iterator: AsyncIteratorProtocol {
        let chunks: LogChunks
        var position = 0
        var reader: ChunkReader?

        /// The next chunk; `nil` after the last.
        ///
        /// - Throws: as `chunk(at:)`. The next call continues with the following chunk.
        public mutating func next() async throws(LogStoreError) -> LogChunk? {
            try await next(isolation: nil)
        }

        /// The next chunk; `nil` after the last.
        ///
        /// - Throws: as `chunk(at:)`. The next call continues with the following chunk.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LogStoreError) -> LogChunk? {
            guard position < chunks.count else { return nil }
            if reader == nil { reader = try ChunkReader(chunks.plan, in: chunks.directory) }
            position += 1
            return if let reader { try chunks.chunk(at: position - 1, by: reader) } else { nil }
        }
    }
}

/// A piece of a log: at most 5,000,000 bytes of UTF-8 text, cut between lines.
public struct LogChunk: Sendable {
    /// The text, or its gzip form if that was asked for.
    public let data: Data
    /// `<app>-<device>-<type>-<first time UTC>-<n>of<count>.log[.gz]`. Safe on any file system. Sorted by name, chunks
    /// are in order.
    public let suggestedFileName: String
    /// The kind of log that its lines belong to.
    public let type: LogType
    /// Bundle id of the program that wrote the lines. Empty for the application that the device enrolled with.
    public let application: String
    /// Numbers of its first and last line in the store.
    public let lines: ClosedRange<UInt64>
    /// Bytes of the text, whether or not `data` is compressed.
    public let rawBytes: Int
    /// SHA-256 of `data`.
    public let digest: Data
}

extension LogStore {
    /// The lines that are in the store now, in chunks of at most 5,000,000 bytes. Lines logged later are not included.
    /// Nothing is deleted.
    ///
    ///     for try await chunk in try store.fetchSDKLogChunks(device: "kiosk-7") {
    ///         try chunk.data.write(to: folder.appending(path: chunk.suggestedFileName))
    ///     }
    ///
    /// The name follows `WS1SDKDataProvider` of the Workspace ONE SDK. Waits for the disk.
    ///
    /// - Parameters:
    ///   - device: identifies the device in file names; any text.
    ///   - level: include lines of this level and of more severe ones.
    ///   - type: `nil` includes both types.
    ///   - application: include lines of the program with this bundle id; `nil` of all.
    ///   - since: include lines from this time on; `nil` from the beginning.
    ///   - until: include lines before this time; `nil` to the end.
    ///   - isCompressed: whether chunks are gzip. Sealed segments are then copied and not compressed again.
    /// - Throws: `LogStoreError`, with the first segment that cannot be read.
    public func fetchSDKLogChunks(
        device: String, level: LogLevel = .verbose, type: LogType? = nil, application: String? = nil,
        since: Date? = nil, until: Date? = nil, isCompressed: Bool = false
    ) throws(LogStoreError) -> LogChunks {
        flush()
        let kinds = Set([SegmentName.Kind.application, .crash, .intake].filter { type == nil || $0.type == type })
        let snapshot = try StoreSnapshot(
            directory, kinds: kinds, application: application, epoch: try directory.readState()?.epoch ?? .unknown)
        var problems = snapshot.problems
        let filter = LogFilter(level: level, since: since.map(Self.microseconds), until: until.map(Self.microseconds))
        let plan = try ChunkPlan(snapshot, filter: filter, problems: &problems)
        if let problem = problems.first { throw problem.error }
        return LogChunks(
            plan, in: directory, name: ChunkName(application: applicationName, device: device),
            form: isCompressed ? .gzip : .plain)
    }

    private static func microseconds(_ date: Date) -> Int64 {
        Timestamp.microseconds(ofSeconds: date.timeIntervalSince1970)
    }
}

/// The suggested file name of a chunk: `<app>-<device>-<type>-<first time UTC>-<n>of<count>.log[.gz]`. It is safe on
/// any file system. Sorted by name, chunks are in order.
package struct ChunkName: Sendable {
    /// The most characters of an application's or device's name. The whole file name stays well below the 255 bytes
    /// that file systems allow.
    private static let maximumBytes = 64

    private let application: String
    private let device: String

    /// - Parameters:
    ///   - application: of chunks without a bundle id; any text. Characters other than ASCII letters, digits, `.`, `_`
    ///     and `-` become `_`.
    ///   - device: likewise.
    package init(application: String, device: String) {
        self.application = application
        self.device = device
    }

    package func file(_ number: Int, of count: Int, _ chunk: ChunkPlan.Chunk, isCompressed: Bool) -> String {
        ChunkName(application: chunk.application ?? application, device: device).file(
            number, of: count, type: chunk.type, earliest: chunk.earliest, isCompressed: isCompressed)
    }

    /// - Parameters:
    ///   - number: from 1.
    ///   - count: the number of all chunks; `number` is padded with zeros to its length.
    package func file(_ number: Int, of count: Int, type: LogType, earliest: Int64, isCompressed: Bool) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, String(count).utf8.count - digits.utf8.count)) + digits
        // 2026-11-21T23:51:28.123456Z -> 20261121T235128Z
        let time = Timestamp.text(earliest).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        return
            """
            \(Self.safe(application))-\(Self.safe(device))-\(type.rawValue)-\(time)-\(padded)of\(count).log\
            \(isCompressed ? ".gz" : "")
            """
    }

    private static func safe(_ name: String) -> String {
        let safe = name.utf8.prefix(maximumBytes).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        // A name must neither be hidden nor look like an option.
        let text = String(decoding: safe, as: UTF8.self)
        return text.isEmpty || text.hasPrefix(".") || text.hasPrefix("-") ? "_" + text.dropFirst() : text
    }
}

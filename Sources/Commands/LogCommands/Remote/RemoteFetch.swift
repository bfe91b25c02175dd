import CollectorAPI
import CollectorClient
import CommandKit
import Crypto
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// Fetches devices' logs from a collector into chunk files. Resumes an earlier attempt that was interrupted.
///
/// The head lists what to fetch: the chunks that the collector has at the beginning, in sections that share no line.
/// Sections are read one after the other, so memory does not grow with their number, and cut into files at line ends.
/// After each file the journal records its end. A resumed fetch reads at most one section again.
///
/// Not `Sendable`: one task at a time.
final class RemoteFetch {
    private let client: CollectorClient
    private let folder: ChunkFolder
    private let head: RemoteFetchHead
    private let journal: RemoteFetchJournal
    private var chunks: [RemoteFetchChunk]
    private var missing: [(missing: FetchManifest.Missing, section: Int)]
    private var hasReadAll: Bool
    /// The end of the text that is in complete files.
    private var position: RemoteFetchPosition
    private var current: RemoteChunkFile?
    /// Files of an earlier attempt that are intact.
    let resumed: Int

    init(
        _ request: RemoteFetchHead.Request, _ filter: LogFilter, _ query: LogQuery, _ client: CollectorClient,
        into folder: ChunkFolder
    ) async throws {
        try folder.make()
        var former = try RemoteFetchJournal.read(folder.journalPath)
        if let left = former, folder.isForced {
            for case .wrote(let chunk) in left.entries { unlink(folder.file(RemoteChunkFile.name(chunk.order))) }
            former = nil
        }
        if let former {
            try folder.requireSame(request, as: former.head.request)
            head = former.head
        } else {
            try folder.requireEmpty()
            let chunks = try await client.chunks(query).filter {
                request.command == nil || $0.command == request.command
            }
            let formless = chunks.count { $0.numbers == nil }
            if formless > 0 {
                StandardError.warn(
                    """
                    without a valid line of a log: \(CountText.of(formless, "chunk")); the collector does not show them
                    """
                )
            }
            head = RemoteFetchHead(
                request: request, filter: filter, sections: RemoteSection.sections(of: chunks, filter))
            if let crowd = head.sections.first(where: { $0.ids.count > CollectorClient.idsPerRequest }) {
                throw CommandError(
                    .failed,
                    """
                    lines \(crowd.first) to \(crowd.last) lie in \(crowd.ids.count) chunks that overlap: give --since \
                    or --until
                    """
                )
            }
        }
        let kept = Self.kept(former?.entries ?? [], in: folder, head: head)
        journal = try RemoteFetchJournal(head, entries: kept, at: folder.journalPath)
        chunks = kept.compactMap { if case .wrote(let chunk) = $0 { chunk } else { nil } }
        missing = kept.compactMap { if case .missed(let missing, let section) = $0 { (missing, section) } else { nil } }
        hasReadAll = kept.contains(.readAll)
        position = chunks.last?.end ?? RemoteFetchPosition()
        resumed = chunks.count
        self.client = client
        self.folder = folder
    }

    /// The entries of an earlier attempt, up to the first file that is no longer as it was written.
    private static func kept(_ entries: [RemoteFetchEntry], in folder: ChunkFolder, head: RemoteFetchHead)
        -> [RemoteFetchEntry]
    {
        let written = entries.compactMap { if case .wrote(let chunk) = $0 { chunk } else { nil } }
        let names = names(written, head)
        var whole = 0
        for (chunk, name) in zip(written, names) where chunk.order == whole + 1 {
            let places = [RemoteChunkFile.name(chunk.order)] + (entries.contains(.readAll) ? [name] : [])
            guard places.contains(where: { folder.holds($0, bytes: chunk.bytes, sha256: chunk.sha256) }) else { break }
            whole += 1
        }
        if whole == written.count, entries.contains(.readAll) { return entries }
        let end = whole == 0 ? RemoteFetchPosition() : written[whole - 1].end
        return written.prefix(whole).map { .wrote($0) }
            + entries.filter { if case .missed(_, let section) = $0 { section < end.section } else { false } }
    }

    private static func names(_ chunks: [RemoteFetchChunk], _ head: RemoteFetchHead) -> [String] {
        chunks.map { chunk in
            let application = head.request.application ?? (chunk.application.isEmpty ? "logs" : chunk.application)
            return ChunkName(application: application, device: head.request.deviceName ?? chunk.device).file(
                chunk.order, of: chunks.count, type: chunk.type, earliest: chunk.earliest,
                isCompressed: head.request.isCompressed)
        }
    }

    /// - Parameter report: receives the number of sections read and the number of all.
    /// - Throws: the first failure. Complete files stay for the next attempt. Lines that the collector lists and cannot
    ///   give are no failure; the manifest lists them as `missing`.
    func run(_ report: (Int, Int) -> Void) async throws -> FetchManifest {
        if !hasReadAll {
            for section in position.section..<max(position.section, head.sections.count) {
                try await read(section)
                report(section + 1, head.sections.count)
            }
            try closeFile(at: RemoteFetchPosition(section: head.sections.count))
            try await findDeleted()
            try journal.append(.readAll)
        }
        return try nameFiles()
    }

    /// Fetches, shows the progress, and prints the result.
    static func run(
        _ request: RemoteFetchHead.Request, _ filter: LogFilter, _ query: LogQuery, _ client: CollectorClient,
        into folder: ChunkFolder,
        isJSON: Bool
    ) async throws {
        var progress = ProgressLine(isShown: !isJSON)
        let fetch = try await RemoteFetch(request, filter, query, client, into: folder)
        let manifest = try await fetch.run { done, all in progress.show(done, of: all, "chunks of the collector read") }
        progress.clear()
        try manifest.report(
            resumed: fetch.resumed, in: folder, isCompressed: request.isCompressed, isJSON: isJSON)
        var shortfall = Shortfall()
        for missing in manifest.missing { shortfall.add(missing.reason) }
        try shortfall.throwIfAny()
    }

    // MARK: Reading

    private func read(_ number: Int) async throws {
        let section = head.sections[number]
        if let current,
            (current.section.application, current.section.device, current.section.type)
                != (section.application, section.device, section.type)
        {
            try closeFile(at: RemoteFetchPosition(section: number))
        }
        let start = position.section == number ? position : RemoteFetchPosition(section: number)
        var place = RemoteFetchPosition(section: number)
        func receive(_ line: UnsafeRawBufferPointer) throws {
            let fields = LogLine(line)
            let isWritten = place.offset < start.offset
            if !isWritten {
                guard place.offset == start.offset && place.line == start.line || place.offset > start.offset else {
                    throw changed(section)
                }
                try write(line, fields, of: section, at: place)
            }
            place.offset += line.count
            place.line = fields?.number.value ?? place.line
        }
        let query = try query(section)
        guard let proof = section.proof else {
            try await client.lines(query, receive)
            guard place.offset >= start.offset else { throw changed(section) }
            return
        }
        guard let text = try await text(query, proof) else {
            try miss(
                section, number,
                "the collector's text of chunk \(section.ids[0]) is not what the device sent: SHA-256 or length differs"
            )
            return
        }
        var splitter = LineSplitter()
        try text.withUnsafeBytes { try splitter.add($0, receive) }
        try splitter.finish(receive)
    }

    private func query(_ section: RemoteSection) throws(CollectorClientError) -> LogQuery {
        try LogQuery(
            LogScope(device: DeviceID(section.device), ids: section.ids),
            type: (TypeArgument(rawValue: head.request.type) ?? .all).rawValue,
            lines: head.filter
        ).with("order", "number")
    }

    /// The text; `nil` if its length or digest differs. Memory holds no more bytes than are expected.
    private func text(_ query: LogQuery, _ proof: RemoteSection.Proof) async throws -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(proof.bytes)
        var bytes = 0
        try await client.text(query) { piece in
            bytes += piece.count
            if bytes <= proof.bytes { text.append(contentsOf: piece) }
        }
        guard bytes == proof.bytes, Data(SHA256.hash(data: text)).hexadecimal == proof.sha256 else { return nil }
        return text
    }

    private func changed(_ section: RemoteSection) -> CommandError {
        CommandError(
            .failed,
            """
            lines \(section.first) to \(section.last) have changed at the collector since the interrupted fetch: give \
            --force to begin again
            """
        )
    }

    private func miss(_ section: RemoteSection, _ number: Int, _ reason: String) throws {
        guard !missing.contains(where: { $0.section == number }) else { return }
        let lost = FetchManifest.Missing(
            order: current?.order ?? chunks.count + 1, firstLine: section.first, lastLine: section.last, reason: reason)
        missing.append((lost, number))
        try journal.append(.missed(lost, section: number))
    }

    /// If chunks were deleted while their section was read, lines of it may be missing.
    private func findDeleted() async throws {
        let present = try await client.present(
            head.sections.filter { $0.proof == nil }.flatMap(\.ids))
        for (number, section) in head.sections.enumerated()
        where section.proof == nil && !present.isSuperset(of: section.ids) {
            try miss(
                section, number,
                "lines \(section.first) to \(section.last) were deleted at the collector meanwhile: some may be missing"
            )
        }
    }

    // MARK: Writing

    private func write(
        _ line: UnsafeRawBufferPointer, _ fields: LogLine?, of section: RemoteSection, at place: RemoteFetchPosition
    ) throws {
        if let current, !current.fits(line.count) { try closeFile(at: place) }
        let file =
            try current
            ?? RemoteChunkFile(chunks.count + 1, of: section, in: folder, isCompressed: head.request.isCompressed)
        current = file
        try file.add(line, fields)
    }

    private func closeFile(at end: RemoteFetchPosition) throws {
        guard let file = current else { return }
        current = nil
        let chunk = try file.finish(at: end)
        try journal.append(.wrote(chunk))
        chunks.append(chunk)
    }

    private func nameFiles() throws -> FetchManifest {
        let names = Self.names(chunks, head)
        let unnamed = zip(chunks, names).filter { access(folder.file(RemoteChunkFile.name($0.0.order)), F_OK) == 0 }
        try folder.requireFree(unnamed.map(\.1))
        for (chunk, name) in unnamed {
            let partial = folder.file(RemoteChunkFile.name(chunk.order))
            try Files<LogStoreError>.rename(partial, to: folder.file(name))
        }
        let manifest = FetchManifest(
            chunks: zip(chunks, names).map { chunk, name in
                FetchManifest.Chunk(
                    order: chunk.order, name: name, bytes: chunk.bytes, sha256: chunk.sha256.hexadecimal,
                    level: head.filter.level.name, type: chunk.type,
                    application: chunk.application.isEmpty ? nil : chunk.application, device: chunk.device,
                    rawBytes: chunk.rawBytes, lines: chunk.lines,
                    firstLine: chunk.firstLine, lastLine: chunk.lastLine, from: Timestamp.text(chunk.earliest),
                    to: Timestamp.text(chunk.latest))
            }, missing: missing.map(\.missing).sorted { ($0.order, $0.firstLine) < ($1.order, $1.firstLine) })
        try folder.write(manifest)
        try Files<LogStoreError>.remove(folder.journalPath)
        return manifest
    }
}

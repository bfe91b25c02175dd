import ArgumentParser
import CollectorClient
import FoundationEssentials
import Glibc
import Gzip
import LogStore
import TelemetryBasics
import WireModel

struct FetchCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Copies lines out of the store or from a collector, byte for byte, in the order of the disk.",
        discussion: """
            With --chunks: files of at most 5,000,000 bytes of text each, cut at line ends, and manifest.json with their names, sizes and SHA-256. \
            One after the other (cat NAMES) they are exactly the lines asked for; no lines, no files but the manifest. A fetch that was \
            interrupted goes on where it was when it is given again. Without --chunks: one file, or standard output.

            Of a collector: the lines that the device has sent there, each once, application by application, in the order they were written. What \
            comes is held against the digests the device gave.

            Fetching deletes nothing.
            """)

    @Flag(help: "Write chunk files and a manifest.")
    var chunks = false

    @Option(
        help: ArgumentHelp(
            "With --chunks a directory, made if missing, empty but for an interrupted fetch; the current one by default. Otherwise a file; standard output by default.",
            valueName: "path"))
    var output: String?

    @Flag(help: "Compress: what is sealed is copied as it is stored. Names of files end in .gz.")
    var gzip = false

    @Flag(help: "Overwrite what is there, also what an interrupted fetch left.")
    var force = false

    @Flag(help: "Print the manifest as JSON; needs --chunks.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Names the program in file names; by default ws1agent for an agent's data directory, and what a device said to a collector.",
            valueName: "name"))
    var application: String?

    @Option(
        help: ArgumentHelp(
            "Names the device in file names; by default the host name, or the device's id at a collector.",
            valueName: "name"))
    var deviceName: String?

    @OptionGroup var filter: FilterOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    func validate() throws {
        if json, !chunks { throw ValidationError("--json prints the manifest: give --chunks too") }
    }

    func runLocally() throws {
        let snapshot = try store.snapshot(filter.kinds)
        var shortfall = Shortfall()
        shortfall.add(snapshot.problems)
        if chunks {
            try fetchChunks(snapshot, &shortfall)
        } else {
            try fetchWhole(snapshot, &shortfall)
        }
        try shortfall.throwIfAny()
    }

    private var form: ChunkReader.Form { gzip ? .gzip : .plain }

    private func fetchChunks(_ snapshot: StoreSnapshot, _ shortfall: inout Shortfall) throws {
        let request = FetchRequest(
            store: snapshot.directory.path, form: form, kinds: filter.kinds.map(\.rawValue).sorted(),
            level: filter.level,
            since: filter.since, until: filter.until, categories: filter.category, text: filter.text)
        let name = ChunkName(
            application: application ?? defaultApplication(snapshot.directory), device: deviceName ?? Self.hostName)
        let folder = ChunkFolder(path: output ?? ".", isForced: force)
        var progress = ProgressLine(isShown: !json)
        var problems: [ChunkPlan.Problem] = []
        let fetch = try ChunkFetch(request, snapshot, name, into: folder, filter: filter.filter(), problems: &problems)
        shortfall.add(problems)
        let manifest = try fetch.run { done, all in progress.show(done, of: all, "chunks") }
        progress.clear()
        for missing in manifest.missing { shortfall.add(missing.reason) }

        try FetchReport(manifest: manifest, resumed: fetch.resumed, folder: folder.absolutePath, isCompressed: gzip)
            .print(isJSON: json)
    }

    private func fetchWhole(_ snapshot: StoreSnapshot, _ shortfall: inout Shortfall) throws {
        var problems: [ChunkPlan.Problem] = []
        let plan = try ChunkPlan(snapshot, filter: filter.filter(), problems: &problems)
        shortfall.add(problems)
        let reader = try ChunkReader(plan, in: snapshot.directory)
        guard let output = try outputFile() else {
            var sink = FileChunkSink(descriptor: STDOUT_FILENO, path: "standard output")
            return try write(plan, reader, to: &sink, &shortfall)
        }
        let partial = output + SegmentName.partialSuffix
        let file = try OpenFile<LogStoreError>(replacing: partial)
        var sink = FileChunkSink(descriptor: file.descriptor, path: partial)
        try write(plan, reader, to: &sink, &shortfall)
        try Files<LogStoreError>.rename(partial, to: output)
        try Self.sayWhere(output)
    }

    /// The file that is written where there are no chunks; `nil`: standard output.
    /// - Throws: where it is there already.
    func outputFile() throws(LogCommandError) -> String? {
        guard let given = output else { return nil }
        // Under a name without .gz, compressed text is taken for damaged text.
        let output = gzip && !given.hasSuffix(".gz") ? given + ".gz" : given
        guard force || access(output, F_OK) != 0 else {
            throw LogCommandError(
                .failed, "\(output) is there already: give another --output, or --force to overwrite it")
        }
        return output
    }

    static func sayWhere(_ path: String) throws(LogCommandError) {
        var status = stat()
        let bytes = stat(path, &status) == 0 ? ByteText.of(Int(status.st_size)) : "all"
        var output = StandardOutput()
        try output.line("\(bytes) in \(AbsolutePath.of(path))")
        try output.flush()
    }

    private func write(
        _ plan: ChunkPlan, _ reader: ChunkReader, to sink: inout FileChunkSink, _ shortfall: inout Shortfall
    ) throws {
        for chunk in plan.chunks {
            do { _ = try reader.write(chunk, as: form, to: &sink) } catch {
                if (error.cause as? POSIXError)?.code == .EPIPE { throw LogCommandError(.readerGone, error.message) }
                guard error.code == .notFound || error.code == .damaged else { throw error }
                shortfall.add(error.message)
            }
        }
    }

    private func defaultApplication(_ directory: StoreDirectory) -> String {
        let parts = directory.path.split(separator: "/")
        return parts.last == "logs" ? "ws1agent" : parts.last.map(String.init) ?? "logs"
    }

    private static var hostName: String {
        var name = [UInt8](repeating: 0, count: 256)
        let isKnown =
            name.withUnsafeMutableBytes {
                gethostname($0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count - 1)
            } == 0
        return isKnown ? String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) : "device"
    }
}

extension FetchCommand {
    func runRemotely() async throws {
        try await collector.access().ask { client, device in
            let query = try filter.query(device)
            if chunks { try await fetchChunks(query, client) } else { try await fetchWhole(query, client) }
        }
    }

    private func fetchChunks(_ query: LogQuery, _ client: CollectorClient) async throws {
        let request = RemoteFetchHead.Request(
            collector: client.name, device: "\(query.device)", command: nil, isCompressed: gzip,
            application: application,
            deviceName: deviceName, type: filter.type.rawValue, level: filter.level, since: filter.since,
            until: filter.until,
            categories: filter.category, text: filter.text)
        try await RemoteFetch.run(
            request, filter.filter(), query, client, into: ChunkFolder(path: output ?? ".", isForced: force),
            isJSON: json)
    }

    /// To one file, or standard output.
    private func fetchWhole(_ query: LogQuery, _ client: CollectorClient) async throws {
        guard let output = try outputFile() else {
            var sink = FileChunkSink(descriptor: STDOUT_FILENO, path: "standard output")
            do { try await write(query, client) { (bytes) throws(LogStoreError) in try sink.write(bytes) } } catch let
                error
                as LogStoreError
            {
                if (error.cause as? POSIXError)?.code == .EPIPE { throw LogCommandError(.readerGone, error.message) }
                throw error
            }
            return
        }
        let partial = output + SegmentName.partialSuffix
        let file = try OpenFile<LogStoreError>(replacing: partial)
        var sink = FileChunkSink(descriptor: file.descriptor, path: partial)
        do {
            try await write(query, client) { (bytes) throws(LogStoreError) in try sink.write(bytes) }
            try Files<LogStoreError>.rename(partial, to: output)
        } catch {
            unlink(partial)
            throw error
        }
        try Self.sayWhere(output)
    }

    private func write(
        _ query: LogQuery, _ client: CollectorClient,
        to sink: @escaping (UnsafeRawBufferPointer) throws(LogStoreError) -> Void
    ) async throws {
        let query = query.with("order", "number")
        var bytes = 0
        if gzip {
            let compressor = try GzipCompressor()
            var failure: LogStoreError?
            let keep = { (output: UnsafeRawBufferPointer) in
                guard failure == nil else { return }
                do throws(LogStoreError) { try sink(output) } catch { failure = error }
            }
            try await client.text(query) { text in
                bytes += text.count
                try compressor.update(text, output: keep)
                if let failure { throw failure }
            }
            if bytes > 0 { try compressor.finish(output: keep) }
            if let failure { throw failure }
        } else {
            try await client.text(query) { text in
                bytes += text.count
                try sink(text)
            }
        }
        if bytes == 0 { try await client.requireDevice(query.device) }
    }
}

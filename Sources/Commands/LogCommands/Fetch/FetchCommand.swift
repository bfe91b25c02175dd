import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

struct FetchCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Copies lines from the store or a collector, byte for byte, in the order of the disk.",
        discussion: """
            With --chunks it writes files of at most 5,000,000 bytes of text, cut at line ends, and manifest.json with \
            their names, sizes and SHA-256. In order (cat NAMES) they are exactly the selected lines. Without lines \
            there is only the manifest. The same command resumes an interrupted fetch. Without --chunks it writes one \
            file, or to standard output.

            From a collector it fetches each line that was sent once, application by application and device by device, \
            in the order in which the lines were written. It compares them with the digests that the device gave.

            It deletes nothing.
            """)

    @Flag(help: "Write chunk files and a manifest.")
    var chunks = false

    @Option(
        help: ArgumentHelp(
            """
            With --chunks an empty directory, or one with an interrupted fetch. It is created if missing; by default \
            the current one. Without --chunks a file; by default standard output.
            """,
            valueName: "path"))
    var output: String?

    @Flag(help: "Compress. Sealed segments are copied as they are stored. File names end in .gz.")
    var gzip = false

    @Flag(help: "Overwrite existing files, also those of an interrupted fetch.")
    var force = false

    @Flag(help: "Print the manifest as JSON; needs --chunks.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "The program's name in file names. By default its bundle id; for lines without one ws1agent.",
            valueName: "name"))
    var applicationName: String?

    @Option(
        help: ArgumentHelp(
            "The device's name in file names. By default the host name; at a collector the device's id.",
            valueName: "name"))
    var deviceName: String?

    @OptionGroup var filter: FilterOptions
    @OptionGroup(title: "At a collector") var chunkOptions: ChunkOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    var application: ApplicationOptions { filter.application }

    func validate() throws {
        if json, !chunks { throw ValidationError("--json prints the manifest: give --chunks too") }
    }

    func runLocally() async throws {
        let snapshot = try store.snapshot(filter.kinds, self.application)
        var shortfall = Shortfall(snapshot.problems)
        if chunks {
            try fetchChunks(snapshot, &shortfall)
        } else {
            try await fetchWhole(snapshot, &shortfall)
        }
        try shortfall.throwIfAny()
    }

    private var form: ChunkReader.Form { gzip ? .gzip : .plain }
    private var folder: ChunkFolder { ChunkFolder(path: output ?? ".", isForced: force) }

    private func fetchChunks(_ snapshot: StoreSnapshot, _ shortfall: inout Shortfall) throws {
        let request = FetchRequest(
            store: snapshot.directory.path, form: form, kinds: filter.kinds.map(\.rawValue).sorted(),
            level: filter.level, since: filter.since, until: filter.until, categories: filter.category,
            text: filter.text, bundleIdentifier: self.application.identifier)
        let name = ChunkName(
            application: applicationName ?? defaultApplication(snapshot.directory), device: deviceName ?? Self.hostName)
        var progress = ProgressLine(isShown: !json)
        var problems: [ChunkPlan.Problem] = []
        let fetch = try ChunkFetch(
            request, snapshot, name, isNamed: applicationName != nil, into: folder, filter: filter.filter(),
            problems: &problems)
        shortfall.add(problems)
        let manifest = try fetch.run { done, all in progress.show(done, of: all, "chunks") }
        progress.clear()
        for missing in manifest.missing { shortfall.add(missing.reason) }
        try manifest.report(resumed: fetch.resumed, in: folder, isCompressed: gzip, isJSON: json)
    }

    private func fetchWhole(_ snapshot: StoreSnapshot, _ shortfall: inout Shortfall) async throws {
        var problems: [ChunkPlan.Problem] = []
        let plan = try ChunkPlan(snapshot, filter: filter.filter(), problems: &problems)
        shortfall.add(problems)
        let reader = try ChunkReader(plan, in: snapshot.directory)
        try await withOutput { sink in
            var sink = sink
            for chunk in plan.chunks {
                do throws(LogStoreError) { _ = try reader.write(chunk, as: form, to: &sink) } catch {
                    guard error.code == .notFound || error.code == .damaged else { throw error }
                    shortfall.add(error.message)
                }
            }
        }
    }

    /// Runs `body` with a sink that writes to the file of `--output`, or to standard output. The file appears under its
    /// name when `body` has returned.
    private func withOutput(_ body: (FileChunkSink) async throws -> Void) async throws {
        guard let output = try outputFile() else {
            do { return try await body(FileChunkSink(descriptor: STDOUT_FILENO, path: "standard output")) } catch let
                error as LogStoreError where (error.cause as? POSIXError)?.code == .EPIPE
            {
                throw CommandError(.readerGone, error.message)
            }
        }
        let partial = output + SegmentName.partialSuffix
        let file = try OpenFile<LogStoreError>(replacing: partial)
        do {
            try await body(FileChunkSink(descriptor: file.descriptor, path: partial))
            try Files<LogStoreError>.rename(partial, to: output)
        } catch {
            unlink(partial)
            throw error
        }
        try Output.line("\(ByteText.of(Int(Paths.size(of: output) ?? 0))) in \(AbsolutePath.of(output))")
    }

    /// The file of `--output`; `nil` for standard output.
    /// - Throws: if the file exists.
    private func outputFile() throws(CommandError) -> String? {
        guard let given = output else { return nil }
        // Tools treat compressed text as damaged text if its name does not end in .gz.
        let output = gzip && !given.hasSuffix(".gz") ? given + ".gz" : given
        guard force || !Paths.exists(output) else { throw .exists(output) }
        return output
    }

    private func defaultApplication(_ directory: StoreDirectory) -> String {
        let parts = directory.path.split(separator: "/")
        return parts.last == "logs" ? "ws1agent" : parts.last.map(String.init) ?? "logs"
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "device" }
        return name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}

extension FetchCommand {
    func runRemotely() async throws {
        try await ask { client, scope in
            let query = try filter.query(scope)
            if chunks { try await fetchChunks(query, client) } else { try await fetchWhole(query, client) }
        }
    }

    private func fetchChunks(_ query: LogQuery, _ client: CollectorClient) async throws {
        let request = RemoteFetchHead.Request(
            collector: client.name, scope: RemoteFetchHead.Scope(query.scope), command: nil, isCompressed: gzip,
            application: applicationName, deviceName: deviceName, type: filter.type.rawValue, level: filter.level,
            since: filter.since, until: filter.until, categories: filter.category, text: filter.text)
        try await RemoteFetch.run(request, filter.filter(), query, client, into: folder, isJSON: json)
    }

    private func fetchWhole(_ query: LogQuery, _ client: CollectorClient) async throws {
        try await withOutput { file in
            var sink = try TextSink(file, isCompressed: gzip)
            var bytes = 0
            try await client.text(query.with("order", "number")) { text in
                bytes += text.count
                try sink.write(text)
            }
            guard bytes > 0 else { return try await client.requireDevice(query.scope) }
            try sink.finish()
        }
    }
}

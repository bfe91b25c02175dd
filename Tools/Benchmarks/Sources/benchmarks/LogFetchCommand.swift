import ArgumentParser
import Foundation

struct LogFetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-fetch",
        abstract:
            """
            Fetching a log in chunks from sealed segments with a release ws1log, beside split, gzip, pigz and zstd on \
            the same lines.
            """
    )

    @Option(help: "A release build of ws1log.")
    var log = "../../.build/release/ws1log"

    @Option(help: "Size of the log, in MB of text.")
    var megabytes = 200

    @OptionGroup var options: MeasurementOptions

    private static let gzip = "split -C 5M | gzip -6"

    func run() async throws {
        let work = try WorkDirectory(in: options.directory)
        let store = try SampleLogStore(
            directory: work.file("store"), plain: work.file("all.log"), bytes: megabytes * 1_000_000)
        func split(_ filter: String?) throws -> Double {
            try rate(store, work) { target in
                let arguments =
                    ["-C", "5M"] + (filter.map { ["--filter=\($0)"] } ?? []) + [work.file("all.log"), "\(target)/x"]
                _ = try MeasuredProcess.output("/usr/bin/split", arguments)
            }
        }
        func fetch(_ arguments: String..., expecting bytes: Int) throws -> Double {
            try rate(store, work) { target in
                let output = try MeasuredProcess.output(
                    log, ["fetch", "--chunks", "--json", "--data", work.file("store"), "--output", target] + arguments)
                let manifest = try JSONDecoder().decode(Manifest.self, from: output)
                guard manifest.chunks.reduce(0, { $0 + $1.rawBytes }) == bytes else {
                    throw BenchmarkError("ws1log fetched other lines than there are: \(manifest.chunks)")
                }
            }
        }
        let all = store.bytes
        var comparison = try await Comparison.run(
            "log-fetch", unit: "MB of text/s", rounds: options.rounds,
            [
                Contestant(Self.gzip) { try split("gzip -6 > $FILE.gz") },
                Contestant("split -C 5M | pigz -p2 -6", baseline: Self.gzip) { try split("pigz -p2 -6 > $FILE.gz") },
                Contestant("split -C 5M | zstd -1", baseline: Self.gzip) { try split("zstd -q -1 > $FILE.zst") },
                Contestant("split -C 5M", baseline: Self.gzip) { try split(nil) },
                Contestant("ws1log fetch --chunks --gzip", baseline: Self.gzip) { try fetch("--gzip", expecting: all) },
                Contestant("ws1log fetch --chunks", baseline: Self.gzip) { try fetch(expecting: all) },
                Contestant("ws1log fetch --chunks --level error --since", baseline: Self.gzip) {
                    try fetch("--level", "error", "--since", SampleLogStore.since, expecting: store.errorBytes)
                },
            ])
        comparison.notes.append(
            """
            \(store.segments) sealed segments, \(Report.number(Double(store.storedBytes) / 1e6)) MB stored; errors in \
            1 of \(SampleLogStore.blocksPerError) blocks, \(Report.number(Double(store.errorBytes) / 1e6)) MB of them
            """)
        try options.report([comparison])
    }

    private struct Manifest: Decodable {
        struct Chunk: Decodable { var rawBytes: Int }
        var chunks: [Chunk]
    }

    private func rate(_ store: SampleLogStore, _ work: WorkDirectory, _ body: (String) throws -> Void) throws -> Double
    {
        let target = work.file("target")
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: target) }
        return Double(store.bytes) / 1e6 / (try Stopwatch.seconds { try body(target) })
    }
}

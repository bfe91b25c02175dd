import ArgumentParser
import CollectorMaintenance
import CommandKit
import Foundation
import RecordStore
import Registry
import SQLiteRecordStore
import TelemetryBasics
import WireModel

struct PackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pack",
        abstract: "Pack the records of past days into less space, now; the collector must not run.",
        discussion: """
            A serving collector packs each day by itself some days later (--pack-after-days of `serve`). This command \
            packs all days but the newest at once, such as after the setting was off. Every record stays, byte for \
            byte, and `verify` proves it as before. Ended at any time, it goes on where it was.

            Examples:
              ws1collector pack
              ws1collector pack --json
            """)

    @OptionGroup var options: DataOptions

    @Flag(help: "Print the packed files as JSON.")
    var json = false

    private struct File: Encodable {
        var file: String
        /// Bytes.
        var before: UInt64
        var after: UInt64
    }

    func run() async throws {
        let directory = try options.directory(
            otherwise: "The records of a cluster are in ClickHouse, which compresses them itself. Leave this out.")
        guard FileManager.default.isReadableFile(atPath: DataDirectory(path: directory).databasePath) else {
            throw StoreError.noCollector(directory)
        }
        let clock = SystemStoreClock()
        let store = try SQLiteRecordStore.open(directory: directory, clock: clock, logger: .ofCommand)
        var files: [File] = []
        var settled: Set<Partition> = []
        let result: Result<Void, any Error>
        do {
            // The newest file of a stream is left out in any case.
            try await RecordPacking(store: store, clock: clock, logger: .ofCommand).pass(
                before: UTCDay(microseconds: clock.now()).next, settled: &settled
            ) {
                files.append(File(file: $0.partition.name, before: $0.before, after: $0.after))
                // A long archive takes hours: what is done is shown at once.
                if !json { StandardError.line("\($0.partition.name): \($0.before) bytes became \($0.after)") }
            }
            result = .success(())
        } catch { result = .failure(error) }
        await store.shutDown()
        if json {
            try Output.json(files)
        } else if case .success = result {
            try Output.line(files.isEmpty ? "Nothing is left to pack." : "\(CountText.of(files.count, "file")) packed.")
        }
        try result.get()
    }
}

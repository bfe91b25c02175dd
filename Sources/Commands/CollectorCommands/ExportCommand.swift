import ArgumentParser
import Collector
import CommandKit
import Foundation
import Glibc
import LogArchive
import RecordStore
import Registry
import TelemetryBasics
import WireModel

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export records as NDJSON, one per line; works while a collector runs.",
        discussion: """
            Writes the records stream by stream, in the order of their receipt. A line is a record as the API shows \
            it, with stream, kind and organization. Records of deleted devices are left out. If a record file is \
            damaged, the command writes all others and exits 1.

            Examples:
              ws1collector export --stream event --since 2026-03-01 --output events.ndjson
              ws1collector export --kind sample-system --device \
            7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11 | gzip > host.gz
            """)

    @OptionGroup var data: DataOptions

    @OptionGroup var named: StreamOptions

    @Option(help: ArgumentHelp("Only records of this kind, such as beacon, event or sample-system.", valueName: "kind"))
    var kind: String?

    @Option(help: ArgumentHelp("Only samples of this module.", valueName: "name"))
    var module: String?

    @Option(
        help: ArgumentHelp(
            "Only records made at this time or later, by the device's clock: 2h, 3d, a day, or RFC 3339.",
            valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("Only records made before this time.", valueName: "time"))
    var until: TimeArgument?

    @Option(help: ArgumentHelp("Only this device.", valueName: "id"))
    var device: String?

    @Option(help: ArgumentHelp("Only devices of this organization.", valueName: "name"))
    var organization: String?

    @Option(help: ArgumentHelp("Write to this new file instead of standard output.", valueName: "file"))
    var output: String?

    /// The size of a write in bytes, approximately.
    private static let pieceBytes = 256 << 10

    func run() async throws {
        let queries = try queries()
        let only = try id()
        try await data.withData { try await export(queries, only, from: $0) }
    }

    private func export(_ queries: [RecordQuery], _ only: DeviceID?, from data: any CollectorData) async throws {
        let metadata = MetadataSnapshot(data.registry)
        try metadata.require(organization: organization, device: only)
        let owners = try metadata.owners(organization: organization)
        let store = try await data.records()
        let descriptor = try target()
        let encoder = JSONEncoder.stable()
        var piece = Data()
        var unreadable: [String] = []
        for var query in queries {
            query.devices = only.map { .one($0) } ?? .among(Set(owners.keys))
            try await store.forEachPage(of: query) { records in
                for record in records {
                    guard let organization = owners[record.device] else { continue }
                    let line = try ExportLine(record, of: query.stream, organization: organization)
                    piece.append(try encoder.encode(line).escapingHiddenCharactersInJSON)
                    piece.append(UInt8(ascii: "\n"))
                }
                if piece.count >= Self.pieceBytes {
                    try write(piece, to: descriptor)
                    piece.removeAll(keepingCapacity: true)
                }
            }
            unreadable += store.unreadableFiles(of: query.stream)
        }
        try write(piece, to: descriptor)
        if output != nil, fsync(descriptor) != 0 || close(descriptor) != 0 { throw failure() }
        if !unreadable.isEmpty {
            throw CommandError(
                .failed,
                "All other records are written, but these files cannot be read: \(unreadable.joined(separator: ", ")). "
                    + CommandError.damageRemedy)
        }
    }

    /// One query for each stream.
    private func queries() throws(CommandError) -> [RecordQuery] {
        let streams = try named.streams()
        var kinds: Set<Int> = []
        if let kind {
            guard let number = RecordKindName.kind(kind) else {
                throw CommandError(.usage, "--kind is \(kind); expected a kind such as beacon or sample-system.")
            }
            if let stream = RecordKindName.stream(of: number) { try named.check(kind, isIn: stream, "--kind") }
            kinds = [number]
        }
        if let module { try named.check(module, isIn: .sample, "--module") }
        // Both count from one moment, so that `--since 2h --until 1h` is an hour.
        let now = SystemClock.wallMicroseconds()
        let times = RecordTimes(from: since?.microseconds(now: now), to: until?.microseconds(now: now))
        if let from = times.from, let to = times.to, from >= to {
            throw CommandError(
                .usage, "--since \(Timestamp.text(from)) is not before --until \(Timestamp.text(to)).")
        }
        return streams.sorted().map { RecordQuery(.among([]), stream: $0, kinds: kinds, module: module, times: times) }
    }

    private func id() throws(CommandError) -> DeviceID? {
        guard let device else { return nil }
        guard let id = DeviceID(device) else {
            throw CommandError(.usage, "--device is \(device); expected a device id (a UUID).")
        }
        return id
    }

    private func target() throws(CommandError) -> Int32 {
        guard let output else { return STDOUT_FILENO }
        let descriptor = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw CommandError(.failed, "\(output) exists. Name another file, or remove it.") }
            throw failure()
        }
        return descriptor
    }

    private func write(_ bytes: Data, to descriptor: Int32) throws(CommandError) {
        guard bytes.withUnsafeBytes({ writeAll($0, to: descriptor).systemError }) == nil else { throw failure() }
    }

    private func failure() -> CommandError {
        CommandError(.failed, "\(output ?? "standard output") cannot be written: \(String(cString: strerror(errno))).")
    }
}

import ArgumentParser
import Collector
import CollectorStore
import CommandKit
import Foundation
import Glibc
import TelemetryBasics
import WireModel

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Records as NDJSON, one a line; works beside a running collector.",
        discussion: """
            In the order of their receipt, stream by stream. A line is what the API shows of a record, with its stream, kind and organization. Records of
            devices that were deleted are left out. Exits 1 where a record file is damaged, after all others are written.

            Examples:
              ws1collector export --data /var/lib/ws1collector --stream event --from 2026-03-01 --output events.ndjson
              ws1collector export --data /var/lib/ws1collector --kind sample-system --device 7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11 | gzip > host.gz
            """)

    @OptionGroup var data: DataOptions

    @OptionGroup var named: StreamOptions

    @Option(help: ArgumentHelp("This kind only, such as beacon, event or sample-system.", valueName: "kind"))
    var kind: String?

    @Option(help: ArgumentHelp("Samples of this module only.", valueName: "name"))
    var module: String?

    @Option(help: ArgumentHelp("Records made at this time or later by the device's clock.", valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("Records made before this time.", valueName: "time"))
    var to: String?

    @Option(help: ArgumentHelp("This device only.", valueName: "id"))
    var device: String?

    @Option(help: ArgumentHelp("Devices of this organization only.", valueName: "name"))
    var organization: String?

    @Option(help: ArgumentHelp("A new file instead of standard output.", valueName: "file"))
    var output: String?

    /// Lines are written in pieces of about so many bytes.
    private static let pieceBytes = 256 << 10

    func run() async throws {
        let directory = try data.directory()
        let filter = try filter()
        try MetadataSnapshot(directory: directory).require(organization: organization, device: filter.device)
        let scan = try RecordScan(directory: directory, filter: filter)
        let descriptor = try target()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var piece = Data()
        while let entries = try scan.next() {
            for entry in entries {
                piece.append(try encoder.encode(try ExportLine(entry)).escapingHiddenCharactersInJSON)
                piece.append(UInt8(ascii: "\n"))
            }
            if piece.count >= Self.pieceBytes {
                try write(piece, to: descriptor)
                piece.removeAll(keepingCapacity: true)
            }
        }
        try write(piece, to: descriptor)
        if output != nil, fsync(descriptor) != 0 || close(descriptor) != 0 { throw failure() }
        if !scan.unreadableFiles.isEmpty {
            throw CommandError(
                .failed,
                "Everything else is written, but records are missing of: \(scan.unreadableFiles.joined(separator: ", ")). "
                    + CommandError.damageRemedy)
        }
    }

    private func filter() throws(CommandError) -> RecordScan.Filter {
        var filter = RecordScan.Filter(streams: try named.streams(), module: module, organization: organization)
        if let kind {
            filter.kind = RecordKindName.kind(kind)
            guard filter.kind != nil else {
                throw CommandError(.usage, "--kind is \(kind); expected a kind such as beacon or sample-system.")
            }
            if let stream = filter.kind.flatMap(RecordKindName.stream(of:)) {
                try named.check(kind, isIn: stream, "--kind")
            }
        }
        if let module { try named.check(module, isIn: .sample, "--module") }
        if let device {
            filter.device = DeviceID(device)
            guard filter.device != nil else {
                throw CommandError(.usage, "--device is \(device); expected a device id (a UUID).")
            }
        }
        filter.from = try time(from, "--from")
        filter.to = try time(to, "--to")
        if let from = filter.from, let to = filter.to, from >= to {
            throw CommandError(
                .usage, "--from \(self.from ?? "") is not before --to \(self.to ?? ""): nothing is between them.")
        }
        return filter
    }

    private func time(_ text: String?, _ flag: String) throws(CommandError) -> Int64? {
        guard let text else { return nil }
        guard let time = Timestamp.parse(text) else {
            throw CommandError(.usage, "\(flag) is \(text); expected a time such as 2026-01-31T12:00:00Z, or a day.")
        }
        return time
    }

    private func target() throws(CommandError) -> Int32 {
        guard let output else { return STDOUT_FILENO }
        let descriptor = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST {
                throw CommandError(.failed, "\(output) is there already. Name another file, or remove it.")
            }
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

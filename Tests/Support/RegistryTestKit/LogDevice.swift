import Crypto
import Foundation
import Gzip
import LogArchive
import Logging
import RecordStore
import StoreTestKit
import TelemetryBasics
import TestKit
import WireModel

@testable import Registry

/// A device and its log, and what tests do with them at an archive.
package struct LogDevice: Sendable {
    package let row: DeviceRow
    package let epoch = LogEpochID.random()
    /// Whose logs it sends, where that is not the application that it enrolled as.
    package var application = ""

    package init(row: DeviceRow) { self.row = row }

    package init(_ organization: String = "default", application: String = "com.example.kiosk") {
        row = DeviceRow(
            id: .random(), organization: organization, name: "kiosk", operatingSystem: WireOperatingSystem(),
            agentVersion: "1",
            application: application, machineHash: "m", test: false, created: 0, enrolled: 0)
    }

    /// Lines of one segment, a second apart, as one chunk: its text, and gzip members of whole lines.
    package static func chunk(
        segment: UInt64, _ positions: ClosedRange<UInt64>, from time: Int64 = ManualStoreClock.start, padding: Int = 0,
        linesPerMember: Int = 100
    ) throws -> (text: Data, gzip: Data) {
        let filler = padding == 0 ? "" : "\tpad=" + String(repeating: "x", count: padding)
        let lines = positions.map { position in
            "\(Timestamp.text(time + Int64(position) * 1_000_000)) \(position.isMultiple(of: 10) ? "E" : "I") "
                + "\(LogNumber(segment: segment, position: position).value) app line \(segment).\(position)\(filler)\n"
        }
        var gzip = Data()
        for start in stride(from: 0, to: lines.count, by: linesPerMember) {
            let member = lines[start..<min(start + linesPerMember, lines.count)]
            gzip += try GzipCodec.compress(Data(member.joined().utf8))
        }
        return (Data(lines.joined().utf8), gzip)
    }

    package func manifest(_ upload: UploadID, _ chunks: [Data]) throws -> UploadManifest {
        var manifest = WireUploadManifest()
        manifest.uploadID = upload.data
        manifest.type = .application
        manifest.application = application
        manifest.logEpoch = epoch.data
        manifest.chunks = chunks.enumerated().map { position, text in
            var chunk = WireUploadChunk()
            chunk.number = UInt32(position + 1)
            (chunk.firstLine, chunk.lastLine) = (1, 1)
            chunk.rawBytes = UInt32(text.count)
            chunk.rawDigest = Data(SHA256.hash(data: text))
            return chunk
        }
        return try UploadManifest(manifest)
    }

    @discardableResult
    package func upload(_ chunks: [(text: Data, gzip: Data)], to archive: LogArchive) async throws -> UploadID {
        let upload = UploadID.random()
        _ = try await archive.metadata.beginUpload(try manifest(upload, chunks.map(\.text)), from: row)
        for (position, chunk) in chunks.enumerated() {
            _ = try await archive.store(chunk.gzip, chunk: position + 1, of: upload, from: row.id)
        }
        return upload
    }
}

extension LogArchive {
    package static func open(
        _ directory: TemporaryDirectory, clock: ManualStoreClock = ManualStoreClock()
    ) throws -> LogArchive {
        var configuration = Configuration()
        configuration.leastFreeBytes = 0
        return try open(directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
    }

    /// With a metadata service of its own, beside that of the test.
    package static func open(
        directory: String, clock: any StoreClock, configuration: Configuration = Configuration(), logger: Logger
    ) throws -> LogArchive {
        let metadata = try TestRegistry.open(directory: directory, clock: clock, logger: logger, exclusive: false).0
        return try open(metadata: metadata, configuration: configuration, logger: logger)
    }

    package func close() async {
        shutDown()
        await metadata.close()
    }
}

extension NoticeService {
    /// With a metadata service of its own, beside that of the test.
    package init(directory: String, clock: any StoreClock, logger: Logger) throws {
        self.init(
            metadata: try TestRegistry.open(directory: directory, clock: clock, logger: logger, exclusive: false).0)
    }
}

extension TemporaryDirectory {
    /// Chunk files and what is to become of them, below `<data>/chunks`.
    package var chunkFiles: [String] {
        let found = FileManager.default.enumerator(atPath: path + "/chunks")?.compactMap { $0 as? String } ?? []
        return found.filter { $0.contains(".log.gz") }.sorted()
    }
}

import Crypto
import Foundation
import Gzip
import Logging
import Synchronization
import TelemetryBasics
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry

/// A device that sends logs.
struct LogSender: Sendable {
    let row = DeviceRow(
        id: .random(), organization: "default", name: "kiosk", operatingSystem: WireOperatingSystem(),
        agentVersion: "1", application: "com.example.kiosk", machineHash: "m", test: false, created: 0, enrolled: 0)
    private let epoch = LogEpochID.random()

    struct Chunk: Sendable {
        let text: Data
        let gzip: Data

        /// Lines of one segment, a second apart. The text does not depend on the size of the gzip members.
        init(segment: UInt64, lines count: Int, linesPerMember: Int = 100) throws {
            let lines = (1...UInt64(count)).map { position in
                let number = LogNumber(segment: segment, position: position).value
                return
                    """
                    \(Timestamp.text(StandingClock.start + Int64(position) * 1_000_000)) I \(number) app line \
                    \(position)\n
                    """
            }
            var gzip = Data()
            for start in stride(from: 0, to: lines.count, by: linesPerMember) {
                gzip += try GzipCodec.compress(
                    Data(lines[start..<min(start + linesPerMember, lines.count)].joined().utf8))
            }
            (text, self.gzip) = (Data(lines.joined().utf8), gzip)
        }
    }

    func manifest(_ upload: UploadID, _ chunks: [Chunk]) throws -> UploadManifest {
        var manifest = WireUploadManifest()
        manifest.uploadID = upload.data
        manifest.type = .application
        manifest.logEpoch = epoch.data
        manifest.chunks = chunks.enumerated().map { position, content in
            var chunk = WireUploadChunk()
            chunk.number = UInt32(position + 1)
            (chunk.firstLine, chunk.lastLine) = (1, 1)
            chunk.rawBytes = UInt32(content.text.count)
            chunk.rawDigest = Data(SHA256.hash(data: content.text))
            return chunk
        }
        return try UploadManifest(manifest)
    }
}

/// A clock that stands.
final class StandingClock: StoreClock {
    /// 2026-03-01T12:00:00Z.
    static let start: Int64 = 1_772_366_400_000_000

    func now() -> Int64 { Self.start }
}

/// Distinguishes the first caller from others.
final class Once: Sendable {
    private let isUsed = Mutex(false)

    func isFirst() -> Bool {
        isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}

/// A collector's data directory that goes away with it.
final class CollectorDirectory: Sendable {
    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("object-storage-\(UUID())").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension LogArchive {
    /// All lines, in the order of their numbers.
    func wholeText() async throws -> Data {
        let content = try await content(LogQuery(), as: LogForm(order: .number))
        var text = Data()
        while let piece = try await content.next() { text += piece }
        return text
    }
}

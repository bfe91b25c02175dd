import Foundation
import Glibc
import Gzip
import RegistryTestKit
import SQLiteStoreTestKit
import StoreTestKit
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct LogArchiveTests {
    @Test(.aboutFiles) func `What was answered is there after every end`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        let chunk = try LogDevice.chunk(segment: 1, 1...500)
        let upload = try await device.upload([chunk], to: archive)
        // As kill -9 leaves it at this moment.
        let copy = try directory.copy()
        let reopened = try LogArchive.open(copy)
        let standing = try await reopened.metadata.standing(of: upload, from: device.row.id)
        #expect(standing.storedChunks == 1 && standing.missing.isEmpty && standing.storedRawBytes == chunk.text.count)
        #expect(try await reopened.text() == chunk.text)
        let report = try await copy.verify()
        #expect(report.isWhole && report.chunks == 1)
        await reopened.close()
        await archive.close()
    }

    @Test func `What a crash before the row leaves is removed, or reused when it comes again`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        let (kept, lost) = (try LogDevice.chunk(segment: 1, 1...50), try LogDevice.chunk(segment: 2, 1...50))
        let upload = UploadID.random()
        _ = try await archive.metadata.beginUpload(
            try device.manifest(upload, [kept.text, lost.text]), from: device.row)
        _ = try await archive.store(kept.gzip, chunk: 1, of: upload, from: device.row.id)
        // The points a kill can come at: while the file is written, when it is written, when it has its name.
        let chunks = DirectoryChunkStore(directory: DataDirectory(path: directory.path))
        let path = ChunkPath(
            organization: "default", application: device.row.application, device: device.row.id, upload: upload,
            number: 2)
        _ = try chunks.write(lost.gzip.prefix(10), for: path)
        _ = try chunks.write(lost.gzip, for: path)
        try chunks.put(lost.gzip, at: path)
        #expect(directory.chunkFiles.count == 4)
        #expect(try await archive.text() == kept.text)
        await archive.close()
        let reopened = try LogArchive.open(directory)
        #expect(directory.chunkFiles.count == 2)
        #expect(try await reopened.text() == kept.text)
        #expect(try await reopened.metadata.standing(of: upload, from: device.row.id).missing == [2])
        _ = try await reopened.store(lost.gzip, chunk: 2, of: upload, from: device.row.id)
        #expect(directory.chunkFiles.count == 2)
        #expect(try await reopened.text() == kept.text + lost.text)
        await reopened.close()
    }

    /// The archive holds its own lock while it looks.
    @Test func `The collector's own lock is not a stranger`() async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        #expect(FileManager.default.fileExists(atPath: directory.path + "/chunks/lock"))
        #expect(try archive.removeLeftovers(leastAge: .zero).strangers.isEmpty)
        try Data("kept".utf8).write(to: URL(fileURLWithPath: directory.path + "/chunks/note"))
        #expect(try archive.removeLeftovers(leastAge: .zero).strangers == ["note"])
        await archive.close()
    }

    @Test func `What is not the collector's is left alone at a start`() async throws {
        let (directory, elsewhere, device) = (try TemporaryDirectory(), try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        await archive.close()
        let chunks = directory.path + "/chunks"
        let parent = "\(chunks)/\(try #require(directory.chunkFiles.first))".split(separator: "/").dropLast().joined(
            separator: "/")
        // A directory of somebody else behind a link, at the depth of chunks; files and directories where none of ours
        // are.
        try FileManager.default.createDirectory(
            atPath: elsewhere.path + "/photos/2026", withIntermediateDirectories: true)
        let strangers = [
            elsewhere.path + "/photos/2026/a.jpg", chunks + "/note", "/\(parent)/note.txt",
            "/\(parent)/\(UploadID.random())-1.gz",
            // A chunk that a catalog of another time knows.
            "/\(parent)/\(UploadID.random())-0001.log.gz",
        ]
        for stranger in strangers { try Data("kept".utf8).write(to: URL(fileURLWithPath: stranger)) }
        try FileManager.default.createSymbolicLink(atPath: chunks + "/archive", withDestinationPath: elsewhere.path)
        try FileManager.default.createDirectory(atPath: chunks + "/lost+found", withIntermediateDirectories: false)
        try FileManager.default.createDirectory(atPath: "/\(parent)/directory", withIntermediateDirectories: false)
        let left = "/\(parent)/\(UploadID.random())-0002.log.gz.\(UploadID.random()).partial"
        try Data("x".utf8).write(to: URL(fileURLWithPath: left))
        let reopened = try LogArchive.open(directory)
        for stranger in strangers { #expect(FileManager.default.fileExists(atPath: stranger), "\(stranger)") }
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(FileManager.default.fileExists(atPath: "/\(parent)/directory"))
        #expect(try await reopened.metadata.chunks(LogQuery(), below: nil, limit: 10).rows.count == 1)
        await reopened.close()
    }

    @Test func `A crash between deleting and removing leaves no file`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        await archive.close()
        try TestRegistry.session(directory: directory.path).run("UPDATE chunk SET fate = 4, deleted = 1, path = NULL")
        #expect(directory.chunkFiles.count == 1)
        await (try LogArchive.open(directory)).close()
        #expect(directory.chunkFiles.isEmpty)
    }

    @Test func `What was deleted is remembered by its upload and its chunks for 60 days`() async throws {
        let (directory, device, clock) = (try TemporaryDirectory(), LogDevice(), ManualStoreClock())
        let archive = try LogArchive.open(directory, clock: clock)
        let chunk = try LogDevice.chunk(segment: 1, 1...50)
        var uploads: [UploadID] = []
        for _ in 0..<2 {
            uploads.append(try await device.upload([chunk], to: archive))
            _ = try await archive.metadata.completeUpload(try #require(uploads.last), gone: [], from: device.row.id)
        }
        let newest = try #require(try await archive.metadata.chunks(LogQuery(), below: nil, limit: 1).rows.first)
        #expect(newest.upload == uploads[1])
        let query = LogQuery(chunks: [newest.id])
        let plan = try await archive.metadata.deletion(query)
        #expect(try await archive.delete(query, confirmation: plan.confirmation, by: .commandLine) == plan)
        clock.advance(days: 59)
        for upload in uploads {
            #expect(try await archive.metadata.standing(of: upload, from: device.row.id).phase == .complete)
        }
        #expect(try await archive.metadata.standing(of: uploads[1], from: device.row.id).deleted == [1])
        clock.advance(days: 2)
        #expect(try await archive.metadata.standing(of: uploads[0], from: device.row.id).storedChunks == 1)
        let remembered = try await archive.metadata.standing(of: uploads[1], from: device.row.id)
        #expect(remembered.phase == .complete && remembered.missing.isEmpty && remembered.deleted.isEmpty)
        #expect(try await archive.text() == chunk.text)
        await archive.close()
    }

    @Test func `Another process cannot hold the same chunks`() async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        #expect(throws: StoreError.self) { try LogArchive.open(directory) }
        await archive.close()
        await (try LogArchive.open(directory)).close()
    }

    @Test(.aboutFiles) func `Verify names missing or altered chunks, and counts that differ`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        for segment in 1...3 {
            try await device.upload([try LogDevice.chunk(segment: UInt64(segment), 1...50)], to: archive)
        }
        await archive.close()
        #expect(try await directory.verify().isWhole)
        let files = directory.chunkFiles
        var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/chunks/\(files[0])"))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: "\(directory.path)/chunks/\(files[0])"))
        try FileManager.default.removeItem(atPath: "\(directory.path)/chunks/\(files[1])")
        try directory.execute(
            "UPDATE log_usage SET raw_bytes = raw_bytes + 1; UPDATE device_log_usage SET raw_bytes = raw_bytes - 1",
            on: directory.path + "/collector.sqlite")
        let report = try await directory.verify()
        #expect(Set(report.findings.map(\.code)) == [.altered, .missing, .miscounted] && report.findings.count == 4)
        #expect(report.findings.first { $0.code == .altered }?.file == "chunks/\(files[0])")
        #expect(report.findings.first { $0.code == .missing }?.device == device.row.id.description)
        #expect(report.chunks == 2)
    }

    @Test func `A chunk that was altered on disk breaks the answer off`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        let file = "\(directory.path)/chunks/\(directory.chunkFiles[0])"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        bytes[bytes.count / 2] ^= 0x10
        try bytes.write(to: URL(fileURLWithPath: file))
        await #expect(throws: StoreError.self) { try await archive.text() }
        // What was deleted behind the archive's back is left out.
        try FileManager.default.removeItem(atPath: file)
        #expect(try await archive.text().isEmpty)
        await archive.close()
    }

    @Test(.enabled(if: geteuid() == 0, "needs to mount a file system"))
    func `A full disk refuses the chunk and leaves nothing half-written`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=2m") == 0 else { return }
        defer { umount2(directory.path, Int32(MNT_DETACH)) }
        let archive = try LogArchive.open(directory)
        let noise = try Self.noise(segment: 1, bytes: 3_000_000)
        let upload = UploadID.random()
        _ = try await archive.metadata.beginUpload(try device.manifest(upload, [noise.text]), from: device.row)
        do {
            _ = try await archive.store(noise.gzip, chunk: 1, of: upload, from: device.row.id)
            Issue.record("it was taken")
        } catch .store(let error) {
            #expect(error.code == .diskFull)
        }
        #expect(directory.chunkFiles.isEmpty)
        #expect(try await archive.metadata.standing(of: upload, from: device.row.id).missing == [1])
        #expect(mount("tmpfs", directory.path, "tmpfs", UInt(MS_REMOUNT), "size=16m") == 0)
        #expect(try await archive.store(noise.gzip, chunk: 1, of: upload, from: device.row.id).storedChunks == 1)
        #expect(try await archive.text() == noise.text)
        await archive.close()
    }

    @Test func `Chunks are refused before the disk is full`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        var configuration = LogArchive.Configuration()
        configuration.leastFreeBytes = .max
        let archive = try LogArchive.open(
            directory: directory.path, clock: ManualStoreClock(), configuration: configuration, logger: quietLogger)
        await #expect(throws: UploadError.self) {
            try await device.upload([try LogDevice.chunk(segment: 1, 1...5)], to: archive)
        }
        #expect(directory.chunkFiles.isEmpty)
        await archive.close()
    }

    /// Lines that cannot be compressed well.
    private static func noise(segment: UInt64, bytes: Int) throws -> (text: Data, gzip: Data) {
        var generator = SystemRandomNumberGenerator()
        var text = ""
        var position: UInt64 = 0
        while text.utf8.count < bytes {
            position += 1
            let noise = Data((0..<100).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } })
                .base64EncodedString()
            text +=
                """
                \(Timestamp.text(ManualStoreClock.start + Int64(position))) I \
                \(LogNumber(segment: segment, position: position).value) app \(noise)\n
                """
        }
        return (Data(text.utf8), try GzipCodec.compress(Data(text.utf8)))
    }

    // MARK: Reading

    @Test func `Many segments at the same time are merged in bounded memory`() async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        // 40 devices that say 60 KB each in the same hour: 2.4 MB together, of which 200 KB may be held.
        for _ in 0..<40 {
            try await LogDevice().upload([try LogDevice.chunk(segment: 1, 1...300, padding: 150)], to: archive)
        }
        let query = LogQuery()
        let reader = try LogReader(
            try await archive.metadata.segments(query), of: query, as: LogForm(), metadata: archive.metadata,
            chunks: archive.chunks,
            heldBytes: 200_000)
        var last: Int64 = 0
        var lines = 0
        while let piece = try await reader.next() {
            piece.withUnsafeBytes { bytes in
                for line in bytes.split(separator: UInt8(ascii: "\n")) {
                    guard let time = LogLine(UnsafeRawBufferPointer(rebasing: line))?.time else { continue }
                    #expect(time >= last)
                    last = time
                    lines += 1
                }
            }
        }
        #expect(lines == 40 * 300)
        // What is opened last comes on top.
        #expect(await reader.mostHeldBytes < 400_000)
        await archive.close()
    }

    @Test func `What cannot match is not inflated`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...20_000, padding: 100)], to: archive)
        let start = ManualStoreClock.start
        var query = LogQuery()
        query.lines = LogFilter(level: .error, since: start + 9_000_000_000, until: start + 9_100_000_000)
        let reader = try LogReader(
            try await archive.metadata.segments(query), of: query, as: LogForm(), metadata: archive.metadata,
            chunks: archive.chunks)
        var text = Data()
        while let piece = try await reader.next() { text += piece }
        #expect(String(decoding: text, as: UTF8.self).split(separator: "\n").count == 10)
        #expect(await reader.mostHeldBytes <= 3 * LogLimits.blockBytes)
        await archive.close()
    }

    @Test func `A log of 200 MB is reported in bounded memory`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        // 40 chunks of 5 MB, the same lines at numbers and times of their own: little to compute, all of it to be
        // returned.
        var total = 0
        for segment in 1...40 {
            let chunk = try LogDevice.chunk(
                segment: UInt64(segment), 1...78, from: ManualStoreClock.start + Int64(segment) * 100_000_000,
                padding: 63_890)
            total += chunk.text.count
            try await device.upload([chunk], to: archive)
        }
        #expect(total > 190_000_000)
        let query = LogQuery()
        let reader = try LogReader(
            try await archive.metadata.segments(query), of: query, as: LogForm(), metadata: archive.metadata,
            chunks: archive.chunks)
        var (reported, most) = (0, 0)
        while let piece = try await reader.next() {
            reported += piece.count
            most = max(most, piece.count)
        }
        #expect(reported == total)
        #expect(most <= LogReader.pieceBytes + LogLimits.lineBytes)
        #expect(await reader.mostHeldBytes <= 2 * LogLimits.chunkBytes)
        await archive.close()
    }
}

extension LogArchive {
    /// All lines, in the order of their numbers.
    func text() async throws -> Data {
        let content = try await content(LogQuery(), as: LogForm(order: .number))
        var text = Data()
        while let piece = try await content.next() { text += piece }
        return text
    }
}

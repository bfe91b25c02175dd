import Foundation
import Glibc
import RegistryTestKit
import SQLiteStoreTestKit
import StoreTestKit
import Synchronization
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

@Suite struct EncryptedBackupTests {
    private let parent: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let identity = BackupIdentity()

    init() throws { parent = try TemporaryDirectory() }

    private var data: String { parent.path + "/data" }
    private var backup: String { parent.path + "/elsewhere/backup" }
    private var restored: String { parent.path + "/restored" }
    private var copies: String { data + "/backup" }

    /// Two days of records, and logs.
    private func makeData() async throws {
        let store = try SQLiteRecordStore.open(directory: data, clock: clock, logger: quietLogger)
        var device = ScriptedDevice()
        for _ in 0..<2 {
            device.produce(40, bodyBytes: 500)
            try await store.drain(&device)
            clock.advance(days: 1)
        }
        await store.shutDown()
        var configuration = LogArchive.Configuration()
        configuration.leastFreeBytes = 0
        let archive = try LogArchive.open(
            directory: data, clock: clock, configuration: configuration, logger: quietLogger)
        let logs = LogDevice()
        for segment in 1...3 {
            try await logs.upload([LogDevice.chunk(segment: UInt64(segment), 1...50)], to: archive)
        }
        await archive.close()
    }

    @discardableResult
    private func takeBackup(
        to output: String? = nil, of records: (any RecordStore)? = nil
    ) async throws -> StoreBackup.Report {
        try await StoreBackup(
            of: records ?? SQLiteRecordStore.openReading(directory: data), directory: data, output: output ?? backup,
            encryptedTo: [identity.recipient], clock: clock, logger: quietLogger
        ).write()
    }

    private func source(_ path: String? = nil, _ identities: [BackupIdentity]? = nil) throws -> BackupSource {
        try BackupSource(path ?? backup, identities: identities ?? [identity])
    }

    private func refusal(_ body: () async throws -> Void) async -> StoreError? {
        do { try await body() } catch { return error as? StoreError }
        return nil
    }

    private func names(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
    }

    @Test func `An encrypted backup restores what the plain one restores, and shows nothing of it`() async throws {
        try await makeData()
        let report = try await takeBackup()
        let plain = try await StoreBackup(
            of: SQLiteRecordStore.openReading(directory: data), directory: data, output: parent.path + "/plain",
            clock: clock, logger: quietLogger
        ).write()
        #expect(report.summary.files == plain.summary.files && report.summary.files == 2 + 3 + 1)
        #expect(try source().verify() == report.summary)
        #expect(try BackupSource(parent.path + "/plain", identities: nil).verify() == plain.summary)

        _ = try StoreRestore(from: try source(), to: restored, clock: clock).restore()
        let verified = try await StoreVerifier(directory: restored).verify()
        #expect(verified.isWhole && verified.records == 80 && verified.chunks == 3, "\(verified.findings)")
        for name in ["records", "chunks"] {
            let files = try #require(FileManager.default.enumerator(atPath: parent.path + "/plain/" + name))
            for case let file as String in files where file.contains(".") {
                #expect(
                    FileManager.default.contentsEqual(
                        atPath: "\(parent.path)/plain/\(name)/\(file)", andPath: "\(restored)/\(name)/\(file)"))
            }
        }

        let bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
        for text in ["SQLite format 3", "collector.sqlite", "records/", "chunks/", "sha256", "complete"] {
            #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text)")
        }
        #expect(bytes.range(of: Data([0x1f, 0x8b, 0x08])) == nil, "a chunk is gzip")
        #expect(names(parent.path + "/elsewhere") == ["backup"] && !Paths.exists(copies))
        var status = stat()
        #expect(stat(backup, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    /// A program that is killed leaves its copies and the file under another name.
    @Test func `What a killed backup left is neither a backup nor in the way of the next`() async throws {
        try await makeData()
        try FileManager.default.createDirectory(atPath: copies + "/records/x", withIntermediateDirectories: true)
        try Data("SQLite format 3".utf8).write(to: URL(fileURLWithPath: copies + "/collector.sqlite"))
        try FileManager.default.createDirectory(
            atPath: parent.path + "/elsewhere", withIntermediateDirectories: true)
        try Data("left".utf8).write(to: URL(fileURLWithPath: backup + ".partial"))
        try await takeBackup()
        #expect(names(parent.path + "/elsewhere") == ["backup"] && !Paths.exists(copies))
        #expect(try source().verify().files == 6)
    }

    /// The state on disk at every moment at which a backup could be killed: before each file, and before its end.
    @Test func `At no moment before its end there is a file that looks whole`() async throws {
        try await makeData()
        let destination = try EncryptedBackupFile(
            backup, of: DataDirectory(path: data), to: [identity.recipient])
        func expectNoBackup() async throws {
            #expect(!Paths.exists(backup))
            let copy = parent.path + "/copy"
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: backup + ".partial", toPath: copy)
            let error = await refusal { _ = try source(copy).verify() }
            #expect(error?.code == .corrupt, "\(error?.message ?? "taken for whole")")
        }
        try await expectNoBackup()
        try destination.begin(BackupManifest.Head(format: 1, collector: "c", incarnation: "i", at: 1))
        try await expectNoBackup()
        for chunk in try FileManager.default.subpathsOfDirectory(atPath: data + "/chunks") where chunk.hasSuffix(".gz")
        {
            #expect(try destination.add("chunks/" + chunk, from: DataDirectory(path: data)))
            try await expectNoBackup()
        }
        #expect(try !destination.add("chunks/a/b/c/gone.log.gz", from: DataDirectory(path: data)))
        #expect(try destination.finish().files == 3)
        #expect(try source().verify().files == 3)
    }

    @Test func `A backup that is not whole is not restored, and nothing of it is left`() async throws {
        try await makeData()
        try await takeBackup()
        let whole = try Data(contentsOf: URL(fileURLWithPath: backup))
        let harmed = parent.path + "/harmed"
        for count in stride(from: 0, to: whole.count, by: 16_411) + [whole.count - 1] {
            try whole.prefix(count).write(to: URL(fileURLWithPath: harmed))
            let error = await refusal {
                _ = try StoreRestore(from: try source(harmed), to: restored, clock: clock).restore()
            }
            #expect(error != nil && !Paths.exists(restored), "cut at \(count)")
        }
        // In the last block: everything else was written by then.
        var changed = whole
        changed[whole.count - 20] ^= 1
        try changed.write(to: URL(fileURLWithPath: harmed))
        // A directory that was there stays.
        try FileManager.default.createDirectory(atPath: restored, withIntermediateDirectories: true)
        let error = await refusal {
            _ = try StoreRestore(from: try source(harmed), to: restored, clock: clock).restore()
        }
        #expect(error?.code == .corrupt && error?.message.contains("was changed") == true)
        #expect(Paths.exists(restored) && names(restored).isEmpty)
    }

    @Test func `A list that does not say what the backup has is refused`() async throws {
        try await makeData()
        func backup(_ name: String, _ lines: [String]) throws -> BackupSource {
            let path = parent.path + "/" + name
            var writer = try EncryptedBackupWriter(
                try OpenFile<StoreError>(creating: path), recipients: [identity.recipient])
            for line in lines { try writer.write(Data(line.utf8)) }
            try writer.finish()
            return try source(path)
        }
        let head = #"{"format":1,"collector":"c","incarnation":"i","at":1}"# + "\n"
        let digest = FileDigest(of: Data("abc".utf8)).sha256.hexadecimal
        func file(_ path: String, _ bytes: Int = 3, _ sha256: String? = nil) -> String {
            #"{"path":"\#(path)","bytes":\#(bytes),"sha256":"\#(sha256 ?? digest)"}"# + "\n"
        }
        func end(_ files: Int, _ bytes: Int) -> String {
            #"{"complete":true,"files":\#(files),"bytes":\#(bytes)}"# + "\n"
        }
        let good = [head, file("collector.sqlite"), "abc", end(1, 3)]
        #expect(try backup("good", good).verify().bytes == 3)
        for (number, lines) in [
            [head, file("collector.sqlite"), "abc"], [head, file("collector.sqlite"), "abc", end(2, 3)],
            [head, file("collector.sqlite"), "abd", end(1, 3)], [head, file("collector.sqlite", 4), "abc", end(1, 4)],
            [head, file("../collector.sqlite"), "abc", end(1, 3)], [head, file("/etc/passwd"), "abc", end(1, 3)],
            [head, file("collector.sqlite", -1), "abc", end(1, -1)], good + ["\n"], good + [file("x")],
            [String(repeating: "x", count: 1 << 20)], [head, file("collector.sqlite", .max), "abc", end(1, .max)],
        ].enumerated() {
            let error = await refusal { _ = try backup("bad-\(number)", lines).verify() }
            #expect(error?.code == .corrupt, "\(number): \(error?.message ?? "taken")")
        }
        let newer = await refusal {
            _ = try backup("newer", [#"{"format":2,"collector":"c","incarnation":"i","at":1}"# + "\n"]).verify()
        }
        #expect(newer?.code == .newerVersion)
    }

    @Test func `Whoever gives no identity, or gives one without need, is told`() async throws {
        try await makeData()
        try await takeBackup()
        let none = await refusal { _ = try BackupSource(backup, identities: nil) }
        #expect(none?.code == .invalid && none?.message.contains("\(identity.recipient)") == true)
        let other = BackupIdentity()
        let wrong = await refusal {
            _ = try StoreRestore(from: try source(nil, [other]), to: restored, clock: clock).restore()
        }
        #expect(wrong?.code == .invalid && wrong?.message.contains("\(other.recipient)") == true)
        #expect(wrong?.message.contains("\(identity.recipient)") == true && !Paths.exists(restored))
        let plain = await refusal { _ = try source(data) }
        #expect(plain?.code == .invalid && plain?.message.contains("not encrypted") == true)
        let strange = await refusal { _ = try source(data + "/collector.sqlite") }
        #expect(strange?.code == .invalid && strange?.message.contains("no backup") == true)
        #expect(await refusal { _ = try source(parent.path + "/none") }?.code == .io)
    }

    @Test func `Nothing is overwritten, and one encrypted backup is written at a time`() async throws {
        try await makeData()
        try await takeBackup()
        let before = try Data(contentsOf: URL(fileURLWithPath: backup))
        #expect(await refusal { try await takeBackup() }?.code == .conflict)
        #expect(try Data(contentsOf: URL(fileURLWithPath: backup)) == before)
        let running = try EncryptedBackupFile(
            backup + "2", of: DataDirectory(path: data), to: [identity.recipient])
        #expect(await refusal { try await takeBackup(to: backup + "3") }?.code == .inUse)
        running.abandon()
        try await takeBackup(to: backup + "3")
        #expect(names(parent.path + "/elsewhere") == ["backup", "backup3"])
    }

    /// Only where this process may mount a file system.
    @Test(.enabled(if: geteuid() == 0, "needs to mount a file system"), arguments: [true, false])
    func `A full disk leaves neither a backup nor copies`(ofTheBackup: Bool) async throws {
        try await makeData()
        let small = ofTheBackup ? parent.path + "/elsewhere" : copies
        try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: true)
        guard mount("tmpfs", small, "tmpfs", 0, "size=64k") == 0 else { return }
        defer { umount2(small, Int32(MNT_DETACH)) }
        let error = await refusal { try await takeBackup() }
        #expect(error?.code == .diskFull, "\(error?.message ?? "written")")
        #expect(!Paths.exists(backup) && !Paths.exists(backup + ".partial") && names(copies).isEmpty)
    }
}

import DeviceTunables
import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("Opening a queue")
struct OpeningTests {
    private func code(_ body: () throws(QueueError) -> RecordQueue) -> QueueError? {
        do throws(QueueError) {
            _ = try body()
            return nil
        } catch { return error }
    }

    @Test
    func `A lock given up is free, even while a child that is being started has a copy of its descriptor`() async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        let lock = "\(fixture.directory)/lock"
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let held = try #require(
            descriptors.first {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == lock
            })
        let copy = fcntl(held, F_DUPFD_CLOEXEC, 3)
        defer { close(copy) }
        await queue.close()
        let again = try fixture.open()
        await again.close()
    }

    @Test
    func `A second opener is refused with the holder's process id, and may open once the first has closed`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        let error = try #require(code { () throws(QueueError) in try fixture.open() })
        #expect(error.code == .inUse)
        #expect(error.message.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
        await queue.close()
        let again = try fixture.open()
        await again.close()
    }

    @Test
    func `The directory is made for its owner only, the files too, and there is no shared-memory file`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("/a/b")
        _ = try await queue.enqueueDurably(fixture.record())
        func mode(_ name: String) throws -> Int {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(fixture.directory)/a/b\(name)")
            return try #require(attributes[.posixPermissions] as? Int)
        }
        #expect(try mode("") == 0o700)
        for name in ["/lock", "/queue.sqlite", "/queue.sqlite-wal", "/queue.epoch"] {
            #expect(try mode(name) == 0o600, "\(name)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(fixture.directory)/a/b").count == 4)
        await queue.close()
    }

    @Test
    func `Every setting the promises rest on is read back from the connection`() throws {
        let fixture = try QueueFixture()
        let store = try fixture.store()
        for (name, value) in [
            ("journal_mode", "wal"), ("synchronous", "2"), ("locking_mode", "exclusive"), ("wal_autocheckpoint", "0"),
            ("journal_size_limit", "-1"), ("page_size", "4096"), ("application_id", "\(QueueFile.applicationID)"),
            ("user_version", "\(QueueSchema.current.version)"), ("max_page_count", "256"), ("secure_delete", "0"),
        ] {
            #expect(try store.connection.pragma(name) == value, "\(name)")
        }
        #expect(try store.connection.fileSize(.main) == 1 << 20)
        #expect(try store.connection.fileSize(.wal) >= Tunables.Queue.walBytes)
        try store.close()
    }

    @Test
    func `A newer file is refused politely and not touched`() async throws {
        let fixture = try QueueFixture()
        await (try fixture.open()).close()
        let connection = try Connection(path: fixture.database)
        try connection.setUserVersion(QueueSchema.current.version + 1)
        try connection.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let error = try #require(code { () throws(QueueError) in try fixture.open() })
        #expect(error.code == .newerVersion)
        #expect(error.message.contains(fixture.database))
        #expect(error.message.contains("Use the version that wrote the file, or a newer one."))
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == before)
    }

    @Test(arguments: [
        "garbage", "other", "no-version", "missing-table", "changed-table", "bad-ledger", "future-hold",
    ])
    func `What is no queue is moved aside as it is, the device goes on, and the status says so`(_ kind: String)
        async throws
    {
        let fixture = try QueueFixture()
        if kind == "garbage" {
            try Data(repeating: 0x41, count: 20000).write(to: URL(fileURLWithPath: fixture.database))
        } else {
            if kind != "other" {
                let queue = try fixture.open()
                try queue.enqueue(fixture.record())
                await queue.close()
            }
            let connection = try Connection(path: fixture.database)
            switch kind {
            case "other": try connection.execute("CREATE TABLE status (number INTEGER PRIMARY KEY)")
            case "no-version": try connection.setUserVersion(0)
            case "missing-table": try connection.execute("DROP TABLE gap")
            case "changed-table": try connection.execute("ALTER TABLE sample ADD COLUMN extra TEXT")
            case "bad-ledger": try connection.execute("UPDATE ledger SET stored = stored + 1")
            default: try connection.execute("UPDATE ledger SET last_queue_time = 1 << 50")
            }
            try connection.close()
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let queue = try fixture.open()
        let salvage = try #require(try await queue.status().ended.last?.salvage)
        #expect(salvage.cause.contains("queue.sqlite"), "\(salvage)")
        let aside = URL(fileURLWithPath: "\(fixture.directory)/\(salvage.file)/queue.sqlite")
        #expect(try Data(contentsOf: aside) == before)
        #expect(salvage.salvaged == (kind == "garbage" || kind == "other" ? 0 : 1) && salvage.lost == 0)
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await queue.enqueueDurably(fixture.record())
        _ = try await collector.drain(queue)
        #expect(collector.stored[.sample]?.count == Int(salvage.salvaged) + 1)
        #expect(try await queue.balance()[.sample]?.closes == true)
        await queue.close()
    }

    @Test
    func `Settings out of range are refused by name`() throws {
        let fixture = try QueueFixture()
        for (name, change) in [
            ("maximumBytes", { $0.maximumBytes = 1 }), ("lossWindow", { $0.lossWindow = .seconds(61) }),
            ("bufferBytes", { $0.bufferBytes = 0 }), ("maximumAge", { $0.maximumAge = .zero }),
        ] as [(String, (inout RecordQueue.Configuration) -> Void)] {
            let error = code { () throws(QueueError) in try fixture.open("", QueueFixture.configuration(change)) }
            #expect(error?.code == .invalid && error?.message.contains(name) == true)
        }
    }

    @Test
    func `Opening reads the ledger, not the backlog`() throws {
        let fixture = try QueueFixture()
        let store = try fixture.store()
        for _ in 1...20 { _ = try store.append((1...1000).map { _ in fixture.record(bytes: 500) }) }
        // Rows that no scan would survive: the first leaf is reached by none of what opening does.
        try store.connection.execute("UPDATE sample SET link = x'00' WHERE number < 10000")
        try store.close()
        let again = try fixture.store()
        #expect(again.state[.sample].rowCount == 20000)
        #expect(again.connection.pagesWritten == 0, "opening in order writes nothing")
        try again.close()
    }
}

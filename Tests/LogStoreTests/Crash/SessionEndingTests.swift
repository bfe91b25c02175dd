import Foundation
import Testing

@testable import LogStore

/// What a service manager says of a program's end reaches the log of its crash.
@Suite struct SessionEndingTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    private func marker(_ application: String = "kiosk", boot: String? = "b") throws -> SessionMarker {
        try SessionMarker(
            SessionRecord(
                application: application, version: "1", process: 42, bootID: boot, started: 5, backtraces: nil),
            in: temporary.directory)
    }

    private func record(_ code: String, _ status: String, _ result: String = "signal") throws -> Bool {
        try SessionEnding.record(
            SessionRecord.Exit(code: code, status: status, result: result), of: "kiosk", bootID: "b",
            in: temporary.directory)
    }

    private func reasons() throws -> [String] {
        try CrashReporter(directory: temporary.directory, bootID: "b", scrubber: nil).reportAll()
        return try WrittenLog(temporary.directory).lines.filter { $0.category == "crash" }.map(\.message)
    }

    @Test(arguments: [
        ("killed", "KILL", "signal", "kiosk ended by signal KILL"),
        ("dumped", "SEGV", "core-dump", "kiosk ended by signal SEGV"),
        ("exited", "70", "exit-code", "kiosk exited with status 70 without closing its log"),
        ("killed", "KILL", "oom-kill", "kiosk killed by the kernel for want of memory"),
    ])
    func `The crash says how it ended`(code: String, status: String, result: String, reason: String) throws {
        _ = try marker()
        #expect(try record(code, status, result))
        #expect(try reasons() == [reason])
        #expect(try !record(code, status, result), "told, there is nothing to note any more")
    }

    @Test func `Only the newest end that nobody has recorded is meant`() throws {
        _ = try marker()
        #expect(try record("exited", "1"))
        _ = try marker()
        #expect(try record("killed", "ABRT"))
        #expect(try !record("killed", "TERM"))
        #expect(
            try reasons() == ["kiosk exited with status 1 without closing its log", "kiosk ended by signal ABRT"])
    }

    @Test func `Running programs, other programs and other boots are left alone`() throws {
        let running = try marker()
        _ = try marker("other")
        _ = try marker(boot: "a")
        #expect(try !record("killed", "KILL"))
        running.close()
        #expect(try !record("killed", "KILL"))
        let reasons = try reasons()
        #expect(reasons.count == 2 && reasons.contains { $0.contains("the machine went down") })
        #expect(!reasons.contains { $0.contains("signal KILL") })
    }

    @Test func `A line that was cut off does not hide the end`() throws {
        var marker: SessionMarker? = try marker()
        let path = temporary.directory.path(SessionMarker.name(try #require(marker?.ordinal)))
        marker = nil
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data("segm".utf8))
        try file.close()
        #expect(try record("dumped", "BUS"))
        #expect(try reasons() == ["kiosk ended by signal BUS"])
    }

    @Test func `Without a store, there is nothing to record`() throws {
        let nowhere = StoreDirectory(path: temporary.directory.path("none"))
        #expect(
            try !SessionEnding.record(code: "killed", status: "KILL", result: "", application: "kiosk", in: nowhere))
        #expect(try temporary.files.isEmpty)
    }
}

import Foundation
import Gzip
import TelemetryBasics
import Testing
import WireModel

@testable import LogStore

/// Real files; a session that ended is a marker that nobody holds.
@Suite final class CrashReporterTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "crash-\(UUID())")
    private var store: StoreDirectory { StoreDirectory(path: directory.path) }

    init() throws { try store.make() }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func record(process: Int32 = 42, boot: String? = "b", backtraces: String? = nil) -> SessionRecord {
        SessionRecord(
            application: "kiosk", version: "1.2", process: process, bootID: boot, started: 5, backtraces: backtraces)
    }

    private func reporter(boot: String = "b") -> CrashReporter {
        CrashReporter(directory: store, bootID: boot, scrubber: nil)
    }

    private func segment(_ ordinal: UInt64, lines: Int, torn: String = "") throws {
        var text = LineText()
        for position in 1...UInt64(lines) {
            Array("app line \(position) of \(ordinal)\tkey=value".utf8).withUnsafeBytes { body in
                text.append(
                    time: Int64(position), level: .information, number: LogNumber(segment: ordinal, position: position),
                    body: body)
            }
        }
        let name = SegmentName(ordinal: ordinal, kind: .application)
        try OpenFile<LogStoreError>(replacing: store.path(name, .text)).write(Array(text.bytes) + Array(torn.utf8))
    }

    private func crashLines(_ ordinal: UInt64) throws -> [String] {
        let text = try String(
            contentsOfFile: store.path(SegmentName(ordinal: ordinal, kind: .crash), .text), encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }

    @Test func `A session that runs or closed is no crash`() throws {
        let marker = try SessionMarker(record(), in: store)
        #expect(try reporter().reportAll() == 0)
        marker.close()
        #expect(try reporter().reportAll() == 0)
        #expect(try !store.names().contains { $0.hasSuffix(SessionMarker.suffix) })
    }

    @Test func `A crash is reported once with its reason, its backtrace and its last lines`() throws {
        let backtraces = directory.appending(path: "backtraces")
        try FileManager.default.createDirectory(at: backtraces, withIntermediateDirectories: false)
        try "\n*** Program crashed: Bad pointer dereference at 0x10 ***\n\nThread 0 crashed:\n".write(
            to: backtraces.appending(path: "kiosk-42-0.0.log"), atomically: false, encoding: .utf8)
        try "*** Program crashed: another ***\n".write(
            to: backtraces.appending(path: "kiosk-421-0.0.log"), atomically: false, encoding: .utf8)
        var marker: SessionMarker? = try SessionMarker(record(backtraces: backtraces.path), in: store)
        let ordinal = try #require(marker?.ordinal)
        try segment(8, lines: 2)
        _ = try SegmentSealer().seal(SegmentName(ordinal: 8, kind: .application), in: store, epoch: .random())
        try segment(9, lines: 3, torn: "torn")
        marker?.began(segment: 8)
        marker?.began(segment: 9)
        marker = nil
        #expect(try reporter().reportAll() == 1)
        let lines = try crashLines(ordinal)
        #expect(
            lines.first?.contains(
                " E \(LogNumber(segment: ordinal, position: 1).value) crash kiosk Program crashed: Bad pointer") == true
        )
        #expect(lines.filter { $0.contains(" crash.backtrace ") }.count == 2)
        let tail = lines.suffix(5)
        #expect(
            tail.map { $0.split(separator: " ").suffix(4).joined(separator: " ") } == [
                "line 1 of 8\tkey=value", "line 2 of 8\tkey=value", "line 1 of 9\tkey=value", "line 2 of 9\tkey=value",
                "line 3 of 9\tkey=value",
            ])
        // Each is a line of the log by itself, with a number of this segment.
        let numbers = lines.compactMap { line in Array(line.utf8).withUnsafeBytes { LogLine($0)?.number } }
        #expect(numbers == (1...UInt64(lines.count)).map { LogNumber(segment: ordinal, position: $0) })
        #expect(try reporter().reportAll() == 0)
        #expect(try !store.names().contains { $0.hasSuffix(SessionMarker.suffix) })
    }

    @Test func `A crash while the crash is reported does not report it twice`() throws {
        let ordinal = try SessionMarker(record(), in: store).ordinal
        let marker = try Data(contentsOf: URL(filePath: store.path(SessionMarker.name(ordinal))))
        #expect(try reporter().reportAll() == 1)
        // As if the marker's removal had not come to the disk.
        try marker.write(to: URL(filePath: store.path(SessionMarker.name(ordinal))))
        let reported = try crashLines(ordinal)
        #expect(try reporter().reportAll() == 0)
        #expect(try crashLines(ordinal) == reported)
    }

    @Test func `Another boot says that the machine went down`() throws {
        let ordinal = try SessionMarker(record(), in: store).ordinal
        #expect(try reporter(boot: "c").reportAll() == 1)
        #expect(try crashLines(ordinal).first?.contains("the machine went down") == true)
    }

    @Test func `A marker without content is removed`() throws {
        try Data().write(to: URL(filePath: store.path(SessionMarker.name(7))))
        #expect(try reporter().reportAll() == 0)
        #expect(try store.names().filter { $0.hasSuffix(SessionMarker.suffix) } == [])
    }

    @Test func `A store that closes leaves no session`() async throws {
        let opened = try LogStore(.init(directory: store.path, applicationName: "kiosk"))
        opened.error("something")
        #expect(try store.names().contains { $0.hasSuffix(SessionMarker.suffix) })
        await opened.close()
        #expect(try !store.names().contains { $0.hasSuffix(SessionMarker.suffix) })
    }

    @Test func `Whoever opens the store next reports the crash`() async throws {
        let ordinal = try SessionMarker(record(), in: store).ordinal
        let opened = try LogStore(.init(directory: store.path, applicationName: "kiosk"))
        await opened.crashesReported()
        let parts = try store.segments()[SegmentName(ordinal: ordinal, kind: .crash)]
        #expect(parts != nil)
        await opened.close()
    }
}

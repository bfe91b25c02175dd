import Foundation
import TelemetryBasics
import Testing
import WireModel

@testable import LogStore

@Suite(.timeLimit(.minutes(5))) struct AgeSealingTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    /// The shortest age that can be configured is a minute; the writer itself accepts any.
    private func writer() throws -> LogWriter {
        let configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        var settings = configuration.writerSettings
        (settings.segmentAgeMilliseconds, settings.flushMilliseconds) = (20, 5)
        let writer = LogWriter(
            settings, keeper: configuration.keeper,
            session: SessionKeeper(configuration.session, in: temporary.directory))
        try writer.start()
        return writer
    }

    private func log(_ message: String, _ writer: LogWriter, isRing: Bool = false) {
        Array("c \(message)".utf8).withUnsafeBufferPointer { body in
            writer.append(
                time: SystemClock.wallMicroseconds(), level: .information, isRing: isRing, category: body, message: nil)
        }
    }

    /// Returns when so many segments are sealed and nothing else is there. Read while they are being sealed, so a look
    /// may fail.
    private func untilSealed(_ count: Int) async throws {
        while true {
            if let parts = try? temporary.directory.segments(), parts.count == count,
                parts.values.allSatisfy({ $0 == [.sealed, .index] })
            {
                return
            }
            await Task.yield()
        }
    }

    @Test func `A segment is sealed by age while the program runs, and the next line begins another`() async throws {
        let writer = try writer()
        log("one", writer)
        log("verbose", writer, isRing: true)
        try await untilSealed(2)
        log("two", writer)
        try await untilSealed(3)
        log("three", writer)
        await withCheckedContinuation { continuation in writer.stop(sealing: true) { continuation.resume() } }
        let log = try WrittenLog(temporary.directory)
        #expect(log.faults.isEmpty && log.sealed == 4)
        #expect(log.lines.filter { $0.kind == .application }.map(\.message) == ["one", "two", "three"])
        #expect(log.lines.filter { $0.kind == .ring }.map(\.message) == ["verbose"])
    }

    /// Handed-over lines reach the file without the writer's thread, which has to look at their age all the same.
    @Test func `What is handed over ages, too`() async throws {
        let writer = try writer()
        let buffer = LineBuffer()
        Array("c handed over".utf8).withUnsafeBufferPointer {
            buffer.append(
                time: SystemClock.wallMicroseconds(), level: .information, isRing: false, category: $0, message: nil)
        }
        #expect(writer.deliver(buffer).application == 1)
        try await untilSealed(1)
        await withCheckedContinuation { continuation in writer.stop(sealing: true) { continuation.resume() } }
    }
}

import Foundation
import Glibc
import LogStore
import TestKit
import Testing
import WireModel

@testable import LogCommands

/// The built `ws1log tail -f` beside programs that write.
@Suite(.timeLimit(.minutes(5))) struct FollowTests {
    /// A `tail -f` that runs; ended when it goes.
    private final class Tail: Sendable {
        private let processID: pid_t
        private let output: Int32

        init(_ arguments: [String], data: String) throws {
            let pipe = Pipe()
            let process = Process()
            process.executableURL = URL(fileURLWithPath: ProgramRun.ws1logPath)
            process.arguments = ["tail", "-f", "--data", data] + arguments
            process.environment = ["PATH": "/usr/bin:/bin", "TZ": "UTC"]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = pipe
            process.standardError = FileHandle.nullDevice
            try process.run()
            processID = process.processIdentifier
            output = dup(pipe.fileHandleForReading.fileDescriptor)
        }

        deinit {
            kill(processID, SIGKILL)
            close(output)
        }

        /// The next so many lines, as soon as they are there.
        func lines(_ count: Int) async -> [String] {
            await BlockingCall.run { [output] in
                var lines: [String] = []
                var bytes: [UInt8] = []
                var byte: UInt8 = 0
                while lines.count < count, read(output, &byte, 1) == 1 {
                    bytes.append(byte)
                    guard byte == UInt8(ascii: "\n") else { continue }
                    lines.append(String(decoding: bytes.dropLast(), as: UTF8.self))
                    bytes = []
                }
                return lines
            }
        }
    }

    private func configuration(_ folder: StoreFolder) -> LogStore.Configuration {
        var configuration = LogStore.Configuration(directory: folder.store.path, applicationName: "test")
        configuration.flushInterval = .zero
        configuration.maximumAge = .seconds(3650 * 86_400)
        return configuration
    }

    private func messages(_ lines: [String]) -> [String] {
        lines.map { line in
            Array(line.utf8).withUnsafeBytes { bytes in
                LogLine(bytes).map { String(decoding: bytes[$0.message], as: UTF8.self) } ?? line
            }
        }
    }

    @Test func `What is logged later is reported once, whoever writes and seals`() async throws {
        let folder = try StoreFolder()
        let tail = try Tail(["-n", "2"], data: folder.path)
        let latest = String(decoding: folder.text(5), as: UTF8.self).split(separator: "\n").suffix(2).map(String.init)
        #expect(await tail.lines(2) == latest)

        let first = try LogStore(configuration(folder))
        let second = try LogStore(configuration(folder))
        first.information("one")
        #expect(messages(await tail.lines(1)) == ["one"])
        second.warning("two")
        #expect(messages(await tail.lines(1)) == ["two"])
        // Sealed between two looks, with lines that were not returned yet.
        first.error("three")
        await first.close()
        #expect(messages(await tail.lines(1)) == ["three"])
        for number in 1...500 { second.information("many \(number)") }
        await second.close()
        #expect(messages(await tail.lines(500)) == (1...500).map { "many \($0)" })
        let third = try LogStore(configuration(folder))
        third.information("after a new start")
        #expect(messages(await tail.lines(1)) == ["after a new start"])
        await third.close()
    }

    @Test func `A filter also holds for what comes later`() async throws {
        let folder = try StoreFolder()
        let store = try LogStore(configuration(folder))
        store.error("the first needle", category: "app.x")
        let tail = try Tail(
            ["-n", "1", "--level", "warning", "--category", "app.*", "--text", "needle"], data: folder.path)
        #expect(messages(await tail.lines(1)) == ["the first needle"])
        store.information("a needle", category: "app.x")
        store.error("a needle", category: "other")
        store.error("hay", category: "app.x")
        store.warning("the last NEEDLE", category: "app.y")
        #expect(messages(await tail.lines(1)) == ["the last NEEDLE"])
        await store.close()
    }
}

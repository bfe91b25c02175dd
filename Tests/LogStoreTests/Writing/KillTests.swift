import Encryption
import Foundation
import Glibc
import Logging
import TestKit
import Testing
import WireModel

@testable import LogStore

/// Real processes write into one directory and are killed: the test binary starts itself, and what is then `KillVictim`
/// writes.
@Suite struct KillTests {
    static let directoryVariable = "LOG_STORE_KILL_DIRECTORY"
    static let reportVariable = "LOG_STORE_KILL_REPORT"
    /// The data directory with the keys; empty: lines are plain.
    static let keysVariable = "LOG_STORE_KILL_KEYS"

    /// One error in so many lines.
    static let errorEvery = 7
    static let threads = 2

    /// A process that writes, and the errors it says have returned.
    private final class Victim {
        let process: pid_t
        private let report: Int32
        private var text: [UInt8] = []

        init(_ directory: StoreDirectory, keys: String?) throws {
            let fifo = FileManager.default.temporaryDirectory.appendingPathComponent(
                "log-store-\(UUID().uuidString).report"
            ).path
            try #require(mkfifo(fifo, 0o600) == 0)
            defer { unlink(fifo) }
            let arguments = [
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), "--testing-library",
                "swift-testing",
                "--filter",
                "KillVictim",
            ]
            var environment = ProcessInfo.processInfo.environment
            environment[KillTests.directoryVariable] = directory.path
            environment[KillTests.reportVariable] = fifo
            environment[KillTests.keysVariable] = keys ?? ""
            process = try SpawnedProcess.start(
                arguments, environment: environment.map { "\($0.key)=\($0.value)" }, streams: [.null, .null, .null],
                hasOwnGroup: false)
            // Waits for the other end.
            report = open(fifo, O_RDONLY | O_CLOEXEC)
        }

        deinit { close(report) }

        /// Reads on, to the end if there is no limit.
        func read(bytes: Int = .max) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let start = text.count
            while text.count - start < bytes {
                let count = Glibc.read(report, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                text += buffer[..<count]
            }
        }

        func end() {
            kill(process, SIGKILL)
            read()
            SpawnedProcess.waitForEnd(of: process)
        }

        /// `thread line`, of each error whose call has returned.
        var returned: [String] {
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            return lines.dropLast().map(String.init)
        }
    }

    static func ring(_ directory: String) -> KeyRing {
        KeyRing(
            directory: directory, provider: KeyFileProvider(path: "\(directory)/device.key"), now: { 1_000_000 },
            logger: Logger(label: "test"))
    }

    @Test(arguments: [false, true])
    func `A killed process loses no error, nor what came before it`(isEncrypted: Bool) async throws {
        let temporary = try TemporaryStore()
        let data = try TemporaryDirectory()
        let keys = isEncrypted ? data.path : nil
        // The victims share one file of keys, so it is there before them.
        if let keys { _ = try Self.ring(keys).sealingKey(for: .logs) }
        let directory = StoreDirectory(path: temporary.directory.path, keys: keys.map { LogKeys(Self.ring($0)) })
        let returned = try await BlockingCall.run { try Self.killAFew(directory, keys: keys) }
        #expect(returned.count > 100)
        if let line = returned.first, isEncrypted {
            for file in try directory.names() {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path(file)))
                #expect(bytes.range(of: Data(line.utf8)) == nil, "\(file) has a line in plain")
            }
        }
        // Whoever opens the store next seals what the dead have left.
        var configuration = LogStore.Configuration(directory: directory.path, applicationName: "test")
        configuration.keys = keys.map { Self.ring($0) }
        let store = try LogStore(configuration)
        await store.close()

        let log = try WrittenLog(directory)
        #expect(log.faults.isEmpty && log.sealed == log.segments.count)
        #expect(Set(log.lines.map(\.number)).count == log.lines.count)
        let lines = log.lines.filter { $0.kind != .crash }.map(\.message)
        let messages = Set(lines)
        for line in returned { #expect(messages.contains(line), "\(line) had returned") }
        // What is there of a thread has no hole: what is lost is its end.
        let threads = Dictionary(grouping: lines) { $0.split(separator: " ").dropLast().joined(separator: " ") }
        for (thread, lines) in threads {
            #expect(lines == (0..<lines.count).map { "\(thread) \($0)" })
        }
        let dropped = try temporary.directory.readState()?.dropped ?? [:]
        #expect(dropped.keys.allSatisfy { $0 == .torn })
    }

    private static func killAFew(_ directory: StoreDirectory, keys: String?) throws -> [String] {
        var generator = SplitMix64(seed: UInt64(getpid()))
        var returned: [String] = []
        for _ in 1...3 {
            let victims = try (1...2).map { _ in try Victim(directory, keys: keys) }
            for victim in victims {
                victim.read(bytes: Int.random(in: 500...20_000, using: &generator))
                victim.end()
                returned += victim.returned
            }
        }
        return returned
    }
}

/// What the killed process runs.
@Suite struct KillVictim {
    @Test(.enabled(if: ProcessInfo.processInfo.environment[KillTests.directoryVariable] != nil))
    func `The victim writes until it is killed`() throws {
        let environment = ProcessInfo.processInfo.environment
        var configuration = LogStore.Configuration(
            directory: try #require(environment[KillTests.directoryVariable]), applicationName: "victim")
        configuration.flushInterval = .milliseconds(20)
        if let keys = environment[KillTests.keysVariable], !keys.isEmpty { configuration.keys = KillTests.ring(keys) }
        let store = try LogStore(configuration)
        let report = open(try #require(environment[KillTests.reportVariable]), O_WRONLY | O_CLOEXEC)
        for thread in 0..<KillTests.threads {
            Thread.detachNewThread {
                for number in 0... {
                    let line = "\(getpid()).\(thread) \(number)"
                    let isError = number % KillTests.errorEvery == 0
                    store.log(isError ? .error : .information, line)
                    // Without a reader this ends the process, should nobody kill it.
                    if isError { _ = write(report, line + "\n", line.utf8.count + 1) }
                }
            }
        }
        while true { pause() }
    }
}

import Foundation
import Glibc
import LogStore
import TestKit
import Testing
import WireModel

@testable import Intake

@Suite(.timeLimit(.minutes(5))) struct SyslogIntakeTests {
    static let logger = "/usr/bin/logger"

    @Test func `Messages of a local socket are stored once, with level and metadata`() throws {
        let scene = try SyslogScene()
        let sender = try SyslogScene.connected(path: scene.path)
        defer { close(sender) }
        // Programs of every user may write.
        var status = stat()
        #expect(stat(scene.path, &status) == 0 && status.st_mode & 0o777 == 0o666)
        try SyslogScene.send("<11>Nov 29 17:00:00 shop[77]: sold out", to: sender)
        try SyslogScene.send("<15>1 - h app 1 - [a b=\"c\"] debug\n", to: sender)
        try SyslogScene.send("what is this", to: sender)
        try scene.untilStored(3)
        let stored = try scene.stored
        #expect(stored.messages == ["sold out", "debug", "what is this"])
        #expect(stored.metadata[0].contains("facility=user identifier=shop pid=77"))
        #expect(stored.metadata[1].contains("a.b=c") && stored.metadata[1].contains("host=h"))
        #expect(stored.metadata[2].contains("syslog=unknown"))
        let written = scene.committer.status.written
        #expect(written[.error] == 1 && written[.verbose] == 1 && written[.information] == 1)
        #expect(scene.committer.status.lag.problems.first?.contains("1 messages were not of syslog") == true)
        scene.committer.finish()
        #expect(access(scene.path, F_OK) != 0)
    }

    @Test func `Both framings are taken in one connection, decided for each frame`() throws {
        let scene = try SyslogScene([.tcp(host: "127.0.0.1", port: 0)], isUnix: false)
        let port = try #require(scene.source.listeners[0]?.port)
        let sender = try SyslogScene.connected(port: port, isStream: true)
        try SyslogScene.send("14 <13>su[1]: on", to: sender)
        try SyslogScene.send("e<13>su[1]: two\n21 <13>su[1]: three\nfour<13>su[1]: fi", to: sender)
        try SyslogScene.send("ve\r\n<13>open at the end", to: sender)
        close(sender)
        try scene.untilStored(5)
        #expect(try scene.stored.messages == ["one", "two", "three\\nfour", "five", "open at the end"])
        scene.committer.finish()
    }

    @Test func `Datagrams of UDP are stored, and long ones are cut with a mark`() throws {
        let scene = try SyslogScene([.udp(host: "127.0.0.1", port: 0)], isUnix: false) { $0.limits.messageBytes = 50 }
        let sender = try SyslogScene.connected(
            port: try #require(scene.source.listeners[0]?.port), isStream: false)
        defer { close(sender) }
        try SyslogScene.send("<13>\(String(repeating: "x", count: 96))", to: sender)
        try scene.untilStored(1)
        #expect(try scene.stored.messages == ["\(String(repeating: "x", count: 46))…[+50]"])
        scene.committer.finish()
    }

    @Test func `A full memory stops no sender, and what was left out is told by level`() throws {
        let scene = try SyslogScene(isShut: true) { $0.memoryBytes = 4_000 }
        let sender = try SyslogScene.connected(path: scene.path)
        defer { close(sender) }
        // Nothing can be stored, and each `send` returns.
        for number in 0..<500 { try SyslogScene.send("<\(number % 2 == 0 ? 11 : 14)>\(number)", to: sender) }
        #expect(scene.committer.step() == .retry(milliseconds: 100))
        #expect(scene.committer.status.failure?.contains("key") == true)
        scene.gate.isShut = false
        scene.committer.finish()
        let stored = try scene.stored
        #expect(!stored.messages.isEmpty && stored.messages == (0..<stored.messages.count).map { "\($0)" })
        let lost = 500 - stored.messages.count
        #expect(stored.messages.count * (SyslogInbox.Message.overhead + 5) <= 4_000)
        let report = try #require(stored.reports.first)
        #expect(stored.reports.count == 1 && report.contains("messages=\(lost)"))
        #expect(report.contains("error=") && report.contains("information="))
    }

    @Test func `A stop stores what was sent before it`() throws {
        let scene = try SyslogScene()
        let sender = try SyslogScene.connected(path: scene.path)
        defer { close(sender) }
        _ = scene.committer.step()
        for number in 0..<300 { try SyslogScene.send("<13>\(number)", to: sender) }
        scene.committer.finish()
        #expect(try scene.stored.messages == (0..<300).map { "\($0)" })
    }

    @Test func `Connections over the limit are refused and counted, and others go on`() throws {
        let scene = try SyslogScene([.tcp(host: "127.0.0.1", port: 0)], isUnix: false) { $0.limits.connections = 2 }
        let port = try #require(scene.source.listeners[0]?.port)
        let senders = try (0..<2).map { _ in try SyslogScene.connected(port: port, isStream: true) }
        defer { for sender in senders { close(sender) } }
        try scene.until { scene.source.listeners[0]?.connections == 2 }
        let refused = try SyslogScene.connected(port: port, isStream: true)
        var byte: UInt8 = 0
        // It was closed.
        #expect(read(refused, &byte, 1) <= 0)
        close(refused)
        try SyslogScene.send("<13>still here\n", to: senders[1])
        try scene.until { try scene.stored.messages == ["still here"] && !scene.stored.reports.isEmpty }
        #expect(
            try scene.stored.reports == [
                "connections of syslog were refused, because there were too many connections=1 limit=2"
            ])
        scene.committer.finish()
    }

    @Test func `Programs that send a line and leave are not refused, however many come`() throws {
        let scene = try SyslogScene([.tcp(host: "127.0.0.1", port: 0)], isUnix: false) { $0.limits.connections = 2 }
        let port = try #require(scene.source.listeners[0]?.port)
        for number in 0..<300 {
            let sender = try SyslogScene.connected(port: port, isStream: true)
            try SyslogScene.send("<13>\(number)", to: sender)
            close(sender)
        }
        scene.committer.finish()
        let stored = try scene.stored
        #expect(stored.messages.compactMap { Int($0) }.sorted() == Array(0..<300) && stored.reports.isEmpty)
    }

    @Test func `A sender that does not end its message is closed, and what came is stored`() throws {
        let scene = try SyslogScene([.tcp(host: "127.0.0.1", port: 0)], isUnix: false)
        let slow = try SyslogScene.connected(
            port: try #require(scene.source.listeners[0]?.port), isStream: true)
        defer { close(slow) }
        try SyslogScene.send("<13>begun", to: slow)
        try scene.until { scene.source.listeners[0]?.connections == 1 }
        try scene.until {
            scene.clock.advance(milliseconds: 60_000)
            return scene.committer.status.written.total == 1
        }
        #expect(try scene.stored.messages == ["begun"])
        var byte: UInt8 = 0
        #expect(read(slow, &byte, 1) == 0)
        scene.committer.finish()
    }

    @Test func `An address that others have is a problem, and the other one is read`() throws {
        let other = try SyslogScene()
        let scene = try SyslogScene([.local(other.path)])
        let problem = try #require(scene.source.lag.problems.first)
        #expect(problem.contains(other.path) && problem.contains("another program has it"))
        let sender = try SyslogScene.connected(path: scene.path)
        defer { close(sender) }
        try SyslogScene.send("<13>one", to: sender)
        try scene.untilStored(1)
        other.committer.finish()
        // Tried again a second later.
        scene.clock.advance(milliseconds: 1_000)
        try scene.until { scene.source.lag.problems.isEmpty }
        #expect(scene.source.listeners.count == 2)
        scene.committer.finish()
    }

    @Test func `A socket whose path somebody removed is opened anew`() throws {
        let scene = try SyslogScene()
        let former = try SyslogScene.connected(path: scene.path)
        defer { close(former) }
        try SyslogScene.send("<13>into the former one", to: former)
        unlink(scene.path)
        scene.clock.advance(milliseconds: 1_000)
        try scene.until { access(scene.path, F_OK) == 0 && scene.source.listeners[0]?.isInPlace == true }
        let sender = try SyslogScene.connected(path: scene.path)
        defer { close(sender) }
        try SyslogScene.send("<13>into the new one", to: sender)
        try scene.untilStored(2)
        #expect(try scene.stored.messages == ["into the former one", "into the new one"])
        scene.committer.finish()
        #expect(access(scene.path, F_OK) != 0)
    }

    @Test func `What the kernel dropped is counted, though nothing comes after it`() throws {
        let scene = try SyslogScene([.udp(host: "127.0.0.1", port: 0)], isUnix: false) { $0.memoryBytes = 50 }
        let listener = try #require(scene.source.listeners[0])
        let sender = try SyslogScene.connected(port: try #require(listener.port), isStream: false)
        defer { close(sender) }
        // As small as the kernel allows, so that a few messages of 60,000 bytes are too many.
        var least: Int32 = 1
        try #require(setsockopt(listener.descriptor, SOL_SOCKET, SO_RCVBUF, &least, 4) == 0)
        let long = "<13>\(String(repeating: "x", count: 60_000))"
        for _ in 0..<100 { try SyslogScene.send(long, to: sender) }
        // Each of them is counted, either as one without room in memory or as one that the kernel dropped.
        try scene.until {
            try scene.stored.reports.reduce(0) { sum, report in
                sum
                    + (report.split(separator: "messages=").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) }
                        ?? 0)
            } == 100
        }
        #expect(try scene.stored.reports.contains { $0.contains("the kernel dropped messages of syslog") })
        scene.committer.finish()
    }

    @Test func `A time with a zone is taken if it can be true, and the arrival otherwise`() {
        let arrival = Int64(1_795_305_088_000_000)
        func line(_ time: String?) -> (entry: LogEntry, time: Int64) {
            var message = SyslogMessage(text: "x")
            message.time = time
            return SyslogIntake.line(of: message, SyslogInbox.Message(text: [], arrival: arrival))
        }
        #expect(line("2026-11-20T00:00:00.5+01:00").time == 1_795_129_200_500_000)
        #expect(line("2026-11-20T00:00:00.5+01:00").entry.metadata["sent"] == nil)
        for text in ["Nov 20 00:00:00", "1970-01-01T00:00:00Z", "2029-01-01T00:00:00Z", "2026-11-20T00:00:00"] {
            #expect(line(text).time == arrival && line(text).entry.metadata["sent"] == text)
        }
        #expect(line(nil).time == arrival)
    }

    @Test(.enabled(if: access(SyslogIntakeTests.logger, X_OK) == 0, "needs logger of util-linux"))
    func `The program logger is understood over each transport, in each form`() async throws {
        let scene = try SyslogScene([.udp(host: "127.0.0.1", port: 0), .tcp(host: "127.0.0.1", port: 0)])
        let ports = try (1...2).map { "\(try #require(scene.source.listeners[$0]?.port))" }
        let udp = ["-d", "-n", "127.0.0.1", "-P", ports[0]], tcp = ["-T", "-n", "127.0.0.1", "-P", ports[1]]
        let runs = [
            ["-u", scene.path], ["-u", scene.path, "--rfc5424"], ["-u", scene.path, "--rfc3164"],
            udp + ["--rfc5424"], udp + ["--rfc3164"], tcp + ["--rfc5424", "--octet-count"], tcp + ["--rfc3164"],
        ]
        for (number, arguments) in runs.enumerated() {
            let run = try await ProgramRun.of(
                arguments + ["-p", "daemon.err", "-t", "shop", "--id=77", "run \(number)"],
                program: URL(filePath: Self.logger))
            #expect(run.status == 0, "\(run.errors)")
            try scene.untilStored(UInt64(number + 1))
        }
        let stored = try scene.stored
        #expect(stored.messages == runs.indices.map { "run \($0)" })
        for metadata in stored.metadata {
            #expect(metadata.contains("facility=daemon") && metadata.contains("identifier=shop"))
            #expect(metadata.contains("pid=77") && !metadata.contains("syslog=unknown"), "\(metadata)")
        }
        #expect(scene.committer.status.written[.error] == UInt64(runs.count))
        scene.committer.finish()
    }
}

import ControlSocket
import Foundation
import Glibc
import Logging
import NIOCore
import TestKit
import Testing
import WireModel

@testable import AgentCommands

@Suite(.timeLimit(.minutes(10))) struct ControlSocketTests {
    private func directory(long: Bool = false) throws -> String {
        let name = "ws1-\(UUID().uuidString)" + (long ? String(repeating: "x", count: 150) : "")
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Runs a server while `body` runs. It answers a beacon with number 7, and anything else with a failure.
    /// - Parameter beforeAnswer: an answer waits for it.
    private func serving(
        _ directory: String, idleTime: TimeAmount = .seconds(30),
        beforeAnswer: @Sendable @escaping () async -> Void = {},
        _ body: @Sendable @escaping () async throws -> Void
    ) async throws {
        let server = ControlServer(
            directory: directory, idleTime: idleTime, logger: Logger(label: "test"),
            answer: { request in
                await beforeAnswer()
                guard case .beacon? = request.action else {
                    return .failure(code: "no", message: "not that", exitCode: 1)
                }
                return .numbered(7)
            }, answerLine: { ControlLineAnswer(ok: true, number: UInt64($0.count)) })
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.run { continuation.finish() } }
            for await _ in ready {}
            try await body()
            group.cancelAll()
        }
    }

    /// What happened to files of a directory, from the kernel.
    private func events(in directory: String, _ body: () async throws -> Void) async throws -> [(
        mask: UInt32, name: String
    )] {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        defer { close(descriptor) }
        try #require(descriptor >= 0 && inotify_add_watch(descriptor, directory, UInt32(IN_CREATE | IN_ATTRIB)) >= 0)
        try await body()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(descriptor, &buffer, buffer.count)
        var found: [(UInt32, String)] = []
        var offset = 0
        while offset < count {
            // struct inotify_event: watch, mask, cookie, length of the name, name.
            let (mask, length) = buffer.withUnsafeBytes {
                (
                    $0.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
                    $0.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self)
                )
            }
            let name = buffer[(offset + 16)..<(offset + 16 + Int(length))].prefix { $0 != 0 }
            found.append((mask, String(decoding: name, as: UTF8.self)))
            offset += 16 + Int(length)
        }
        return found
    }

    @Test func `The socket has its mode from its first moment`() async throws {
        let directory = try directory()
        let events = try await events(in: directory) { try await serving(directory) {} }
        #expect(events.contains { $0.mask & UInt32(IN_CREATE) != 0 && $0.name == "control.sock" })
        #expect(!events.contains { $0.mask & UInt32(IN_ATTRIB) != 0 && $0.name == "control.sock" }, "\(events)")
    }

    private static var beacon: WireControlRequest {
        var request = WireControlRequest()
        request.beacon = WireControlBeacon()
        return request
    }

    @Test(arguments: [false, true])
    func `A request gets its answer, also where the path is longer than a socket address`(long: Bool)
        async throws
    {
        let directory = try directory(long: long)
        try await serving(directory) {
            let client = ControlClient(directory: directory)
            let answer = try await client.ask(Self.beacon)
            #expect(answer?.succeeded == true)
            #expect(answer?.number == 7)
            var status = WireControlRequest()
            status.status = WireControlStatus()
            let refusal = try await client.ask(status)
            #expect(refusal?.succeeded == false)
            #expect(refusal?.exitCode == 1)
            let mode =
                try FileManager.default.attributesOfItem(atPath: "\(directory)/control.sock")[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        let later = try await ControlClient(directory: directory).ask(Self.beacon)
        #expect(later == nil)
    }

    @Test func `A socket left by a killed agent is nobody, and is replaced`() async throws {
        let directory = try directory()
        let stale = try #require(rawConnection(directory, bind: true))
        close(stale)
        let nobody = try await ControlClient(directory: directory).ask(Self.beacon)
        #expect(nobody == nil)
        try await serving(directory) {
            let answer = try await ControlClient(directory: directory).ask(Self.beacon)
            #expect(answer?.number == 7)
        }
    }

    @Test(arguments: [
        Data("GET / HTTP/1.1\r\n\r\n".utf8), Data([0, 0, 0, 0]), Data([0xFF, 0xFF, 0xFF, 0xFF]), Data([0, 0x10, 0, 1]),
    ]) func `A length that cannot be ends the connection and not the server`(bytes: Data) async throws {
        let directory = try directory()
        try await serving(directory) {
            let descriptor = try #require(rawConnection(directory, bind: false))
            defer { close(descriptor) }
            #expect(await exchange(descriptor, bytes).isEmpty)
            let answer = try await ControlClient(directory: directory).ask(Self.beacon)
            #expect(answer?.number == 7)
        }
    }

    @Test func `A message that is not a request is answered as that`() async throws {
        let directory = try directory()
        try await serving(directory) {
            let descriptor = try #require(rawConnection(directory, bind: false))
            defer { close(descriptor) }
            let answer = try WireControlAnswer.decode(
                await exchange(descriptor, Data([0, 0, 0, 3, 0xFF, 0xFF, 0xFF])).dropFirst(4))
            #expect(answer.errorCode == "malformed-request")
            #expect(answer.exitCode == 64)
        }
    }

    @Test func `A message cut short gets no answer`() async throws {
        let directory = try directory()
        let frame = try #require(ControlFrame.bytes(Self.beacon))
        try await serving(directory) {
            for length in 0..<frame.count {
                let descriptor = try #require(rawConnection(directory, bind: false))
                #expect(await exchange(descriptor, frame.prefix(length), closing: true).isEmpty)
                close(descriptor)
            }
        }
    }

    @Test func `Lines are answered in their order, also after the program has said all`() async throws {
        let directory = try directory()
        try await serving(directory) {
            // More than may wait for their turn, blank ones in between, and the last one without a newline.
            let lines = (1...200).map { "{" + String(repeating: " ", count: $0) + "}" }
            let descriptor = try #require(rawConnection(directory, bind: false))
            defer { close(descriptor) }
            let text = lines.joined(separator: "\n \r\n")
            let answers = String(
                decoding: await exchange(descriptor, Data(text.utf8), closing: true), as: UTF8.self)
            let expected = (1...200).map { #"{"number":\#($0 + 2),"ok":true}"# + "\n" }.joined()
            #expect(answers == expected)
            // Commands are served as before.
            #expect(try await ControlClient(directory: directory).ask(Self.beacon)?.number == 7)
        }
    }

    @Test func `A line that is too long is refused, and ends the connection`() async throws {
        let directory = try directory()
        try await serving(directory) {
            let descriptor = try #require(rawConnection(directory, bind: false))
            defer { close(descriptor) }
            let line = Data("{".utf8) + Data(repeating: UInt8(ascii: "x"), count: ControlLine.maximumBytes)
            let answer = String(decoding: await exchange(descriptor, line), as: UTF8.self)
            #expect(answer.contains(#""code":"line-too-long""#) && answer.contains(#""ok":false"#))
        }
    }

    @Test func `A silent connection is closed`() async throws {
        let directory = try directory()
        try await serving(directory, idleTime: .milliseconds(50)) {
            let descriptor = try #require(rawConnection(directory, bind: false))
            defer { close(descriptor) }
            #expect(await exchange(descriptor, Data()).isEmpty)
        }
    }

    @Test func `An answer may take longer than a connection may be silent`() async throws {
        let directory = try directory()
        let silentIsClosed: @Sendable () async -> Void = {
            guard let silent = rawConnection(directory, bind: false) else { return }
            #expect(await exchange(silent, Data()).isEmpty)
            close(silent)
        }
        try await serving(directory, idleTime: .milliseconds(50), beforeAnswer: silentIsClosed) {
            let answer = try await ControlClient(directory: directory).ask(Self.beacon)
            #expect(answer?.number == 7)
        }
    }

    @Test func `More connections than the bound are closed, and make room when they go`() async throws {
        let directory = try directory()
        try await serving(directory) {
            let silent = (0..<ControlServer.maximumConnections).compactMap { _ in rawConnection(directory, bind: false)
            }
            // Connections are accepted in their order, so this one finds the others there.
            let beyond = try #require(rawConnection(directory, bind: false))
            #expect(await exchange(beyond, Data()).isEmpty)
            close(beyond)
            for descriptor in silent {
                #expect(await exchange(descriptor, Data(), closing: true).isEmpty)
                close(descriptor)
            }
            let answer = try await ControlClient(directory: directory).ask(Self.beacon)
            #expect(answer?.number == 7)
        }
    }

    @Test func `An answer over the bound becomes one that says so`() throws {
        var answer = WireControlAnswer()
        answer.json = Data(count: ControlFrame.maximumBytes + 1)
        let refusal = try WireControlAnswer.decode(ControlFrame.bytes(answer).dropFirst(4))
        #expect(!refusal.succeeded)
        #expect(refusal.errorCode == "answer-too-large")
        var request = WireControlRequest()
        request.event.event.name = String(repeating: "x", count: ControlFrame.maximumBytes)
        #expect(ControlFrame.bytes(request) == nil)
    }
}

/// A plain connection to the control socket, or a socket bound in its place.
func rawConnection(_ directory: String, bind isBinding: Bool) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array("\(directory)/control.sock".utf8)) }
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            let length = socklen_t(MemoryLayout<sockaddr_un>.size)
            return isBinding ? Glibc.bind(descriptor, address, length) : connect(descriptor, address, length)
        }
    }
    return result == 0 ? descriptor : nil
}

/// Sends bytes and reads what comes until the connection ends.
func exchange(_ descriptor: Int32, _ bytes: Data, closing: Bool = false) async -> Data {
    await BlockingCall.run {
        _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if closing { shutdown(descriptor, Int32(SHUT_WR)) }
        var received = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        var count = 1
        while count > 0 {
            count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { received.append(contentsOf: buffer[..<count]) }
        }
        return received
    }
}

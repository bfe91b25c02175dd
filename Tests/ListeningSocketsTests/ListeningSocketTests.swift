import Foundation
import Glibc
import TestKit
import Testing

@testable import ListeningSockets

@Suite struct ListeningSocketTests {
    private static func open(
        _ address: SocketAddress, _ kind: ListeningSocket.Kind = .datagrams, bufferBytes: Int32 = 1 << 16
    ) throws(ListenFailure) -> ListeningSocket {
        try ListeningSocket(address, kind, bufferBytes: bufferBytes)
    }

    /// A socket that is connected to an address.
    private static func sender(_ address: SocketAddress, isStream: Bool = false) throws -> Int32 {
        let system = try #require(address.system)
        let type = isStream ? SOCK_STREAM : SOCK_DGRAM
        let descriptor = socket(system.family, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(SocketAddress.call(system.bytes) { connect(descriptor, $0, $1) } == 0)
        return descriptor
    }

    @Test func `A socket that a dead process left is replaced, and every user may write there`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("s")
        let dead = try Self.open(.path(path))
        Glibc.close(dead.descriptor)
        let socket = try Self.open(.path(path))
        #expect(socket.isInPlace)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o666)
        socket.close()
        #expect(access(path, F_OK) != 0)
    }

    @Test func `What is not a dead socket stays, and the failure says what to do`() throws {
        let directory = try TemporaryDirectory()
        let used = try Self.open(.path(directory.file("used")))
        defer { used.close() }
        let streaming = try Self.open(.path(directory.file("streaming")), .connections)
        defer { streaming.close() }
        try Data().write(to: URL(filePath: directory.file("file")))
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("link"), withDestinationPath: directory.file("used"))
        for (name, words) in [
            ("used", "another program has it"), ("streaming", "another program has it"),
            ("file", "a file is there that is no socket; remove it"),
            ("link", "a file is there that is no socket; remove it"),
            ("none/s", "RuntimeDirectory="), ("file/s", "RuntimeDirectory="),
        ] {
            let failure = #expect(throws: ListenFailure.self) { try Self.open(.path(directory.file(name))) }
            #expect(failure?.description.contains(words) == true, "\(name): \(failure?.description ?? "")")
        }
        #expect(used.isInPlace && streaming.isInPlace && access(directory.file("file"), F_OK) == 0)
    }

    @Test func `A port that is taken, or an address that is not of this machine, is told`() throws {
        let socket = try Self.open(.internet(host: "127.0.0.1", port: 0))
        defer { socket.close() }
        let port = try #require(socket.port)
        let taken = #expect(throws: ListenFailure.self) { try Self.open(.internet(host: "127.0.0.1", port: port)) }
        #expect(taken?.description.contains("another program has it") == true)
        let foreign = #expect(throws: ListenFailure.self) { try Self.open(.internet(host: "192.0.2.7", port: 0)) }
        #expect(foreign?.description.contains("no network interface of this machine") == true)
    }

    @Test func `A path that was removed, or taken by another, is noticed, and the other one stays`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("s")
        let first = try Self.open(.path(path))
        unlink(path)
        #expect(!first.isInPlace)
        let second = try Self.open(.path(path))
        #expect(!first.isInPlace && second.isInPlace)
        first.close()
        #expect(second.isInPlace)
        second.close()
    }

    @Test func `A datagram has its length, also where it finds no room`() throws {
        let socket = try Self.open(.internet(host: "127.0.0.1", port: 0))
        defer { socket.close() }
        let sender = try Self.sender(.internet(host: "127.0.0.1", port: try #require(socket.port)))
        defer { Glibc.close(sender) }
        #expect(send(sender, "0123456789", 10, 0) == 10 && send(sender, "", 0, 0) == 0)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
        defer { memory.deallocate() }
        #expect(socket.receive(into: memory) == 10 && memory.elementsEqual("0123".utf8))
        #expect(socket.receive(into: memory) == 0)
        #expect(socket.receive(into: memory) == nil)
    }

    @Test func `Datagrams that the kernel dropped are counted, though none comes after them`() throws {
        let socket = try Self.open(.internet(host: "127.0.0.1", port: 0), bufferBytes: 1)
        defer { socket.close() }
        let sender = try Self.sender(.internet(host: "127.0.0.1", port: try #require(socket.port)))
        defer { Glibc.close(sender) }
        #expect(socket.drops == 0)
        for _ in 0..<500 { #expect(send(sender, "0123456789", 10, 0) == 10) }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { memory.deallocate() }
        var received = 0
        while socket.receive(into: memory) != nil { received += 1 }
        #expect(received > 0 && received < 500)
        #expect(received + Int(socket.drops) == 500)
    }
}

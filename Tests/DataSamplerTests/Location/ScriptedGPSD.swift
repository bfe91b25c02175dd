import Foundation
import Glibc
import Synchronization
import TestKit

@testable import DataSampler

/// A server on a loopback port that answers as a test says. It serves one connection after the other, on a thread of
/// its own, until it is closed.
final class ScriptedGPSD: Sendable {
    struct Answer: Sendable {
        /// Sent one after the other, so that a line can come in pieces.
        var pieces: [Data] = []
        var closes = false

        static let nothing = Answer()

        static func line(_ text: String) -> Answer { Answer(pieces: [Data((text + "\r\n").utf8)]) }
    }

    static let version = #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#

    /// The requests of each connection, in order. An ended one ends with "closed".
    let requests = Watched<[[String]]>([])
    let port: UInt16
    private let listener: Int32
    private let hasEnded = Mutex(false)

    /// - Parameters:
    ///   - greeting: what a connection begins with.
    ///   - answer: to a request: the number of the connection, from 0, and of the poll in it.
    init(
        greeting: String = ScriptedGPSD.version,
        answer: @escaping @Sendable (_ connection: Int, _ poll: Int) -> Answer
    ) {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                precondition(bind(descriptor, address, length) == 0)
                precondition(listen(descriptor, 8) == 0)
                precondition(getsockname(descriptor, address, &length) == 0)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        let requests = requests
        Thread.detachNewThread {
            var number = 0
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else {
                    close(descriptor)
                    return
                }
                Self.serve(connection, number, greeting, requests, answer)
                close(connection)
                number += 1
            }
        }
    }

    deinit { end() }

    /// Refuses further connections. The thread then closes the listener, once.
    func end() {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
    }

    var address: GPSDAddress { get throws { try GPSDAddress("127.0.0.1:\(port)") } }

    private static func serve(
        _ connection: Int32, _ number: Int, _ greeting: String, _ requests: Watched<[[String]]>,
        _ answer: (Int, Int) -> Answer
    ) {
        requests.change { $0.append([]) }
        defer { requests.change { $0[number].append("closed") } }
        var polls = 0
        if !greeting.isEmpty { guard send(Data((greeting + "\r\n").utf8), connection) else { return } }
        var buffer = Data()
        while true {
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return }
            buffer.append(contentsOf: chunk[..<count])
            while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let request = String(decoding: buffer[..<end], as: UTF8.self)
                buffer = Data(buffer[(end + 1)...])
                requests.change { $0[number].append(request) }
                guard request == "?POLL;" else { continue }
                let answer = answer(number, polls)
                polls += 1
                for piece in answer.pieces { guard send(piece, connection) else { return } }
                if answer.closes { return }
            }
        }
    }

    private static func send(_ bytes: Data, _ connection: Int32) -> Bool {
        bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count }
    }
}

/// A clock that passes when a test says so.
final class ManualBootTime: Sendable {
    private let time = Watched<UInt64>(60_000_000)

    var now: UInt64 { time.value }
    func advance(seconds: UInt64) { time.change { $0 += seconds * 1_000_000 } }
}

import Foundation
import Glibc
import TestKit

/// One exchange over a plain socket, for what no HTTP client would send or survive.
enum RawExchange {
    /// Sends `bytes` to 127.0.0.1 and returns what came back until the peer closed, or for ten seconds.
    static func send(_ bytes: Data, to port: Int) async throws -> String {
        try await BlockingCall.run { try exchange(bytes, port) }
    }

    private static func exchange(_ bytes: Data, _ port: Int) throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw EndToEndError("cannot connect to 127.0.0.1:\(port)") }
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == bytes.count else { throw EndToEndError("only \(sent) of \(bytes.count) bytes were sent") }
        var answer = Data()
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer.append(contentsOf: buffer[..<count])
        }
    }
}

import Foundation
import Glibc

/// One keep-alive connection of HTTP/1.1 to a server on this machine, blocking: a client as cheap as can be, because it
/// shares the cores with the server that is measured. One thread at a time.
final class HTTPConnection {
    struct Response {
        var status: Int
        /// The head with the empty line behind it.
        var head: Data
        var body: Data
    }

    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw BenchmarkError("socket: \(String(cString: strerror(errno)))") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let text = String(cString: strerror(errno))
            close(descriptor)
            throw BenchmarkError("connecting to 127.0.0.1:\(port): \(text)")
        }
    }

    deinit { close(descriptor) }

    /// The bytes of a whole request.
    static func request(_ method: String, _ path: String, headers: [(String, String)] = [], body: Data = Data())
        -> [UInt8]
    {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }

    func send(_ request: [UInt8]) throws -> Response {
        try write(request)
        while true {
            if let head = buffer.withUnsafeBytes({ HTTPResponseHead(parsing: $0) }) {
                let bytes = try take(head.byteCount)
                let body = try head.isChunked ? chunkedBody() : take(head.contentLength)
                return Response(status: head.status, head: bytes, body: body)
            }
            try read()
        }
    }

    /// Sends a request whose answer does not end.
    func open(_ request: [UInt8]) throws { try write(request) }

    /// Returns what of such an answer has come within 100 ms; empty if nothing.
    func receive() throws -> Data {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&wait, 1, 100) > 0 { try read() }
        defer { buffer = [] }
        return Data(buffer)
    }

    private func chunkedBody() throws -> Data {
        var body = Data()
        while true {
            var lineEnd: Int?
            while lineEnd == nil {
                lineEnd = buffer.firstIndex(of: 13)
                if lineEnd == nil { try read() }
            }
            guard let lineEnd, let length = Int(String(decoding: buffer[..<lineEnd], as: UTF8.self), radix: 16) else {
                throw BenchmarkError("a chunk has no length")
            }
            _ = try take(lineEnd + 2)
            body += try take(length)
            _ = try take(2)
            if length == 0 { return body }
        }
    }

    private func take(_ count: Int) throws -> Data {
        while buffer.count < count { try read() }
        defer { buffer.removeFirst(count) }
        return Data(buffer[..<count])
    }

    private func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { throw BenchmarkError("sending: \(String(cString: strerror(errno)))") }
                sent += count
            }
        }
    }

    private func read() throws {
        let count = withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { space in
            let count = recv(descriptor, space.baseAddress, space.count, 0)
            if count > 0 { buffer.append(contentsOf: space[..<count]) }
            return count
        }
        guard count > 0 else {
            throw BenchmarkError(
                count == 0 ? "the server closed the connection" : "receiving: \(String(cString: strerror(errno)))")
        }
    }
}

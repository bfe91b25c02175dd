import Foundation
import Glibc
import Gzip
import OTLP
import SwiftProtobuf

/// The least that a receiver of OTLP can do: it inflates a request, parses it, drops it and answers 200. One thread for
/// each connection, which ends with the program.
final class BareOTLPServer: Sendable {
    let port: UInt16

    init() throws {
        let port = try CollectorProcess.freePort()
        self.port = port
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 ? listen(listener, 64) : -1
            }
        }
        guard result == 0 else { throw BenchmarkError("listening: \(String(cString: strerror(errno)))") }
        Thread {
            while true {
                let connection = accept(listener, nil, nil)
                if connection >= 0 { Thread { Self.serve(connection) }.start() }
            }
        }.start()
    }

    private static func serve(_ connection: Int32) {
        defer { close(connection) }
        var one: Int32 = 1
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        var buffer: [UInt8] = []
        while true {
            var request: (head: HTTPRequestHead, body: Data)?
            while request == nil {
                if let head = HTTPRequestHead(parsing: buffer), buffer.count >= head.byteCount + head.contentLength {
                    let end = head.byteCount + head.contentLength
                    request = (head, Data(buffer[head.byteCount..<end]))
                    buffer.removeFirst(end)
                } else {
                    let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { space in
                        let count = recv(connection, space.baseAddress, space.count, 0)
                        if count > 0 { buffer.append(contentsOf: space[..<count]) }
                        return count
                    }
                    guard count > 0 else { return }
                }
            }
            guard let request, let body = try? GzipCodec.decompress(request.body) else { return }
            let isParsed =
                request.head.isForLogs
                ? (try? OTLPLogsRequest(serializedBytes: body)) != nil
                : (try? OTLPMetricsRequest(serializedBytes: body)) != nil
            guard isParsed, answer.withUnsafeBytes({ send(connection, $0.baseAddress, $0.count, 0) }) == answer.count
            else { return }
        }
    }
}

/// The part of a request's head that `BareOTLPServer` needs. Its clients are `OTLPLoad` and a collector that forwards.
private struct HTTPRequestHead {
    let isForLogs: Bool
    let contentLength: Int
    /// With the empty line behind it.
    let byteCount: Int

    init?(parsing bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard
            let length = lines.first(where: { $0.lowercased().hasPrefix("content-length: ") })
                .flatMap({ Int($0.dropFirst(16)) })
        else { return nil }
        isForLogs = lines[0].contains(OTLPSignal.logs.path)
        contentLength = length
        byteCount = end.upperBound
    }
}

import Foundation
import Glibc
import Gzip
import Synchronization

/// A server on loopback that answers each request as it is asked: a collector that breaks off, lies, or is none. One
/// request to a connection.
final class ScriptedCollector: Sendable {
    struct Answer: Sendable {
        var status: Int
        var headers: [String: String]
        var body: Data
        /// Only so many bytes of the body are sent.
        var sentBytes: Int?

        /// The answer of a collector.
        static func json(_ text: String, status: Int = 200) -> Answer {
            Answer(
                status: status, headers: collector.merging(["Content-Type": "application/json"]) { $1 },
                body: Data(text.utf8))
        }

        static func problem(_ status: Int, _ code: String, detail: String, headers: [String: String] = [:]) -> Answer {
            let body =
                #"""
                {"type":"about:blank","title":"T","status":\#(status),"code":"\#(code)","detail":"\#(detail)",\#
                "retryable":true,"scope":"collector"}
                """#
            return Answer(
                status: status,
                headers: collector.merging(["Content-Type": "application/problem+json"]) { $1 }.merging(headers) { $1 },
                body: Data(body.utf8))
        }

        static func content(_ text: Data) -> Answer {
            let gzip = (try? GzipCodec.compress(text)) ?? Data()
            return Answer(status: 200, headers: collector.merging(["Content-Encoding": "gzip"]) { $1 }, body: gzip)
        }

        static let collector = [
            "WS1-Collector-Version": "1.0", "WS1-Collector-Id": "00000000-0000-4000-8000-000000000001",
            "WS1-Incarnation-Id": "00000000-0000-4000-8000-000000000002",
        ]
    }

    private let descriptor: Int32
    let port: Int
    private let seen = Mutex<[String]>([])

    /// First lines of the requests.
    var requests: [String] { seen.withLock { $0 } }
    var url: String { "http://127.0.0.1:\(port)" }

    /// - Parameter answer: gets a request's head and how many came before.
    init(_ answer: @escaping @Sendable (String, Int) -> Answer) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && listen(descriptor, 8) == 0
                    ? getsockname(descriptor, generic, &length) : -1
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in serve(answer) }
    }

    /// Ends the thread; to be called last.
    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func serve(_ answer: @Sendable (String, Int) -> Answer) {
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { break }
            if let head = Self.head(connection) {
                let count = seen.withLock { seen in
                    seen.append(String(head.prefix { $0 != "\r\n" }))
                    return seen.count - 1
                }
                Self.send(answer(head, count), over: connection)
            }
            close(connection)
        }
        close(descriptor)
    }

    /// Head and body: bodies here are small and end with a brace.
    private static func head(_ connection: Int32) -> String? {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !(text.hasPrefix("POST") ? text.hasSuffix("}") : text.hasSuffix("\r\n\r\n")) {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return text
    }

    private static func send(_ answer: Answer, over connection: Int32) {
        var head = "HTTP/1.1 \(answer.status) X\r\nContent-Length: \(answer.body.count)\r\nConnection: close\r\n"
        for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
        let bytes = Array((head + "\r\n").utf8) + answer.body.prefix(answer.sentBytes ?? .max)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}

import Foundation

/// A person who is signed in to a collector's console, over one connection.
///
/// Unchecked, because it is handed to one thread and used there alone.
final class ConsoleVisitor: @unchecked Sendable {
    private let connection: HTTPConnection
    private let headers: [(String, String)]
    private let port: UInt16

    init(_ collector: CollectorProcess) throws {
        port = collector.port
        connection = try HTTPConnection(port: port)
        let form = Data("token=\(collector.administratorToken)".utf8)
        let answer = try connection.send(
            HTTPConnection.request(
                "POST", "/sign-in", headers: [("Content-Type", "application/x-www-form-urlencoded")], body: form))
        let head = String(decoding: answer.head, as: UTF8.self)
        guard answer.status == 303, let cookie = head.firstMatch(of: /(?i)set-cookie: (?<cookie>[^;\r]+)/)?.cookie
        else {
            throw BenchmarkError("signing in: \(answer.status)")
        }
        headers = [("Cookie", String(cookie)), ("Accept-Encoding", "gzip")]
    }

    /// The bytes of a page or file, compressed as browsers get it.
    func load(_ address: String) throws -> Int {
        let answer = try connection.send(HTTPConnection.request("GET", address, headers: headers))
        guard answer.status == 200 else { throw BenchmarkError("\(address): \(answer.status)") }
        return answer.head.count + answer.body.count
    }

    /// Milliseconds until a page is there.
    func milliseconds(_ address: String) throws -> Double {
        try Stopwatch.seconds { _ = try load(address) } * 1000
    }

    /// Follows a live page, and loads it again whenever the collector says that something has changed, at most every
    /// two seconds, as console.js does.
    /// - Returns: how often it was loaded.
    func follow(_ address: String, topics: String, until isOver: () -> Bool) throws -> Int {
        let stream = try HTTPConnection(port: port)
        try stream.open(HTTPConnection.request("GET", "/live?topics=\(topics)", headers: headers))
        var loads = 0
        var isDue = false
        var next = ContinuousClock.now
        while !isOver() {
            if String(decoding: try stream.receive(), as: UTF8.self).contains("event: change") { isDue = true }
            if isDue, ContinuousClock.now >= next {
                _ = try load(address)
                loads += 1
                isDue = false
                next = .now + .seconds(2)
            }
        }
        return loads
    }
}

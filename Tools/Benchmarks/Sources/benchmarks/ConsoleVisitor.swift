import Foundation

/// A person who is signed in to a collector's console, over one connection.
///
/// Unchecked, because it is handed to one thread and used there alone.
final class ConsoleVisitor: @unchecked Sendable {
    private let connection: HTTPConnection
    private let headers: [(String, String)]
    private let port: UInt16

    /// - Parameter token: of the person.
    init(port: UInt16, token: String) throws {
        self.port = port
        connection = try HTTPConnection(port: port)
        let form = Data("token=\(token)".utf8)
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
        let answer = try request(address)
        guard answer.status == 200 else { throw BenchmarkError("\(address): \(answer.status)") }
        return answer.head.count + answer.body.count
    }

    private func request(_ address: String) throws -> HTTPConnection.Response {
        try connection.send(HTTPConnection.request("GET", address, headers: headers))
    }

    /// Milliseconds until a page is there.
    func milliseconds(_ address: String) throws -> Double {
        try Stopwatch.seconds { _ = try load(address) } * 1000
    }

    struct Loads {
        var answered = 0
        /// The number of requests refused by the limits on what people ask at a time.
        var refused = 0

        mutating func add(_ other: Loads) {
            answered += other.answered
            refused += other.refused
        }
    }

    /// Follows a live page as console.js does: when something has changed, it loads the page within a second, then not
    /// for two seconds. A page that was refused is loaded again after ten.
    func follow(_ address: String, topics: String, until isOver: () -> Bool) throws -> Loads {
        let stream = try HTTPConnection(port: port)
        try stream.open(HTTPConnection.request("GET", "/live?topics=\(topics)", headers: headers))
        var loads = Loads()
        var isDue = false
        var next = ContinuousClock.now
        while !isOver() {
            if String(decoding: try stream.receive(), as: UTF8.self).contains("event: change"), !isDue {
                isDue = true
                next = max(next, .now + .milliseconds(Int.random(in: 0..<1000)))
            }
            guard isDue, ContinuousClock.now >= next else { continue }
            let answer = try request(address)
            switch answer.status {
            case 200:
                loads.answered += 1
                isDue = false
                next = .now + .seconds(2)
            case 429:
                loads.refused += 1
                next = .now + .seconds(10)
            case let status: throw BenchmarkError("\(address): \(status)")
            }
        }
        return loads
    }
}

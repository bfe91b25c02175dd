import Testing
import WireModel

@testable import CollectorClient

/// What the client decides without asking a collector.
@Suite struct CollectorClientTests {
    private static let device = "11111111-1111-4111-8111-111111111111"

    @Test func `Patience with a busy collector has a bound`() {
        var patience = BusyPatience()
        #expect(patience.pause(.zero, roll: 0) == .milliseconds(100))
        #expect(patience.pause(.seconds(8), roll: 1) == .seconds(10))
        #expect(patience.pause(.seconds(50), roll: 0) == nil)
        #expect(patience.pause(.milliseconds(49_900), roll: 0) == .milliseconds(49_900))
        #expect(patience.pause(.milliseconds(1), roll: 0) == nil)
    }

    @Test func `A query is written so that nothing in it is mistaken for syntax`() throws {
        let device = try #require(DeviceID(Self.device))
        let filter = LogFilter(level: .warning, since: 0, until: 1, categories: ["a.*", "b"], text: "x=1&y é+%")
        let path = try LogQuery(LogScope(device: device), type: "crash", lines: filter).with(ids: ["1", "2"]).path(
            "/api/v1/logs")
        #expect(
            path == "/api/v1/logs?device=\(device)&test=true&type=crash&level=warning&from=1970-01-01T00:00:00.000000Z"
                + "&to=1970-01-01T00:00:00.000001Z&category=a.%2A,b&text=x%3D1%26y%20%C3%A9%2B%25&ids=1,2")
        #expect(throws: CollectorClientError.self) {
            try LogQuery(LogScope(device: device), type: "all", lines: LogFilter(categories: ["a,b"]))
        }
    }

    @Test(arguments: [1, 2, 3, 7, 1000]) func `Lines are the same, however they arrive`(_ piece: Int) throws {
        let text = Array("one\ntwo\n\nthree and more\nlast".utf8)
        var splitter = LineSplitter()
        var lines: [String] = []
        for start in stride(from: 0, to: text.count, by: piece) {
            try Array(text[start..<min(start + piece, text.count)]).withUnsafeBytes { bytes in
                try splitter.add(bytes) { lines.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        try splitter.finish { lines.append(String(decoding: $0, as: UTF8.self)) }
        #expect(lines == ["one\n", "two\n", "\n", "three and more\n", "last"])
    }

    @Test func `A line that no chunk holds is refused`() throws {
        var splitter = LineSplitter()
        let piece = [UInt8](repeating: 0x61, count: LineSplitter.maximumLineBytes)
        try piece.withUnsafeBytes { try splitter.add($0) { _ in } }
        #expect(throws: CollectorClientError.self) { try piece.withUnsafeBytes { try splitter.add($0) { _ in } } }
    }

    @Test func `What a collector says does not steer a terminal`() {
        #expect("a\u{1B}[31mb\u{9B}c\n".fromPeer == "a [31mb c ")
        #expect(String(repeating: "x", count: 9999).fromPeer.count == 500)
    }
}

import NIOHTTP1
import OTLP
import Testing

@testable import Intake

/// Which requests the agent answers at all.
@Suite struct OTLPRequestHeadTests {
    private static func head(
        _ change: [(String, String)] = [], method: HTTPMethod = .POST, uri: String = "/v1/logs"
    ) -> HTTPRequestHead {
        var headers = HTTPHeaders([("Host", "127.0.0.1:4318"), ("Content-Type", "application/x-protobuf")])
        for (name, value) in change { headers.replaceOrAdd(name: name, value: value) }
        return HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: headers)
    }

    private static func refusal(_ head: HTTPRequestHead, isSocket: Bool = false) -> Int? {
        do throws(OTLPRequestHead.Refusal) {
            _ = try OTLPRequestHead(head, isSocket: isSocket, limit: 100)
            return nil
        } catch { return error.status }
    }

    @Test(
        arguments: [
            ("127.0.0.1", nil), ("127.0.0.1:4318", nil), ("127.9.9.9:1", nil), ("[::1]", nil), ("[::1]:4318", nil),
            ("localhost", nil), ("LOCALHOST:4318", nil), ("example.org", 403), ("example.org:4318", 403),
            ("127.0.0.1.example.org", 403), ("localhost.example.org", 403), ("10.0.0.1", 403), ("[::2]:4318", 403),
            ("[::1]x", 403), ("[::1", 403), ("", 403), (":4318", 403), ("127.1", 403), ("0.0.0.0", 403),
            ("2130706433", 403), ("localhost@example.org", 403),
        ] as [(String, Int?)])
    func `Only a host that is this machine is answered`(host: String, status: Int?) {
        #expect(Self.refusal(Self.head([("Host", host)])) == status)
        #expect(Self.refusal(Self.head([("Host", host)]), isSocket: true) == nil)
    }

    @Test func `Two hosts are none`() {
        var head = Self.head()
        head.headers.add(name: "Host", value: "127.0.0.1")
        #expect(Self.refusal(head) == 400)
        head.headers.remove(name: "Host")
        #expect(Self.refusal(head) == 400)
        #expect(Self.refusal(head, isSocket: true) == nil)
    }

    @Test func `An origin is refused, also of this machine, also through a socket`() {
        for origin in ["https://example.org", "http://localhost:4318", "null", ""] {
            #expect(Self.refusal(Self.head([("Origin", origin)])) == 403)
            #expect(Self.refusal(Self.head([("Origin", origin)]), isSocket: true) == 403)
        }
    }

    @Test(
        arguments: [
            ("/v1/logs", HTTPMethod.POST, nil), ("/v1/metrics", .POST, nil), ("/v1/logs?a=b", .POST, nil),
            ("/v1/traces", .POST, 404), ("/", .POST, 404), ("/v1/logs/", .POST, 404),
            ("http://127.0.0.1/v1/logs", .POST, 404),
            ("/v1/logs", .GET, 405), ("/v1/logs", .OPTIONS, 405),
        ] as [(String, HTTPMethod, Int?)])
    func `Two paths are answered, with POST`(uri: String, method: HTTPMethod, status: Int?) {
        #expect(Self.refusal(Self.head(method: method, uri: uri)) == status)
    }

    @Test(
        arguments: [
            ("Content-Type", "application/json; charset=utf-8", nil), ("Content-Type", "text/plain", 415),
            ("Content-Type", "", 415), ("Content-Encoding", "gzip", nil), ("Content-Encoding", "GZIP", nil),
            ("Content-Encoding", "identity", nil), ("Content-Encoding", "zstd", 415),
            ("Content-Encoding", "gzip, gzip", 415), ("Content-Length", "100", nil), ("Content-Length", "101", 413),
        ] as [(String, String, Int?)])
    func `Types and lengths are checked before the body`(name: String, value: String, status: Int?) {
        #expect(Self.refusal(Self.head([(name, value)])) == status)
    }

    @Test func `A head says what the body is`() throws {
        let head = try OTLPRequestHead(
            Self.head([("Content-Type", "application/json"), ("Content-Encoding", "gzip")], uri: "/v1/metrics"),
            isSocket: false, limit: 100)
        #expect(head.signal == .metrics && head.encoding == .json && head.isCompressed)
    }
}

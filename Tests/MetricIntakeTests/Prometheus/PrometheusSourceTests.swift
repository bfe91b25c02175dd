import HTTPTestKit
import HelperProcesses
import TestKit
import Testing

@testable import MetricIntake

@Suite(.timeLimit(.minutes(5))) struct PrometheusSourceTests {
    private static func source(
        _ url: String, limit: Duration = .seconds(120), series: Int = 100
    ) throws -> PrometheusSource {
        PrometheusSource(try .init(url: url, limit: limit, series: series))
    }

    private static func answer(_ text: String, status: String = "200 OK") -> [ScriptedServer.Step] {
        [.send("HTTP/1.1 \(status)\r\ncontent-length: \(text.utf8.count)\r\n\r\n\(text)")]
    }

    private static func values(_ points: [MetricPoint]) -> [String: MetricValue] {
        Dictionary(points.map { ($0.name, $0.value) }) { _, last in last }
    }

    @Test func `A scrape is a sample, and a new one each time`() async throws {
        try await ScriptedServer.serving([
            Self.answer("a_bytes{k=\"v\"} 1\nwrong\n"), Self.answer("b 2\n"),
        ]) { server in
            let source = try Self.source("http://127.0.0.1:\(server.port)/custom/metrics")
            let points = await source.collect()
            #expect(points.contains(MetricPoint("a_bytes", unit: "By", attributes: ["k": "v"], .number(1))))
            #expect(Self.values(points)["ws1.metrics.up"] == .integer(1))
            #expect(Self.values(points)["ws1.metrics.invalid"] == .integer(1))
            #expect(source.report.problem?.contains("value is not a number") == true)
            let next = Self.values(await source.collect())
            #expect(next["b"] == .number(2) && next["a_bytes"] == nil)
            #expect(source.report.series == 1 && source.report.problem == nil)
            #expect(server.requests.allSatisfy { $0.hasPrefix("GET /custom/metrics HTTP/1.1\r\n") })
            #expect(server.requests.first?.contains("text/plain;version=0.0.4") == true)
        }
    }

    @Test func `A URL without a path asks for the usual one`() async throws {
        try await ScriptedServer.serving([Self.answer("a 1\n")]) { server in
            _ = await (try Self.source("http://localhost:\(server.port)")).collect()
            #expect(server.requests.first?.hasPrefix("GET /metrics HTTP/1.1") == true)
        }
    }

    @Test func `Another answer than 200 is told, and gives no values`() async throws {
        try await ScriptedServer.serving([
            Self.answer("a 1\n", status: "503 Service Unavailable"),
            [.send("HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n")],
        ]) { server in
            let source = try Self.source("http://127.0.0.1:\(server.port)/metrics")
            for status in [503, 302] {
                let values = Self.values(await source.collect())
                #expect(values["a"] == nil && values["ws1.metrics.up"] == .integer(0))
                #expect(source.report.problem?.contains("answers with the status \(status)") == true)
            }
        }
    }

    @Test func `An answer that is cut off gives no values`() async throws {
        try await ScriptedServer.serving([
            [.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\na 1\n"), .close]
        ]) { server in
            let source = try Self.source("http://127.0.0.1:\(server.port)/metrics")
            let values = Self.values(await source.collect())
            #expect(values["a"] == nil && values["ws1.metrics.up"] == .integer(0))
            #expect(source.report.problem != nil)
        }
    }

    @Test func `A program that does not answer is given up after the time limit`() async throws {
        try await ScriptedServer.serving([[]]) { server in
            let source = try Self.source("http://127.0.0.1:\(server.port)/metrics", limit: .milliseconds(200))
            #expect(Self.values(await source.collect())["ws1.metrics.up"] == .integer(0))
            #expect(source.report.problem?.contains("/metrics: ") == true, "\(source.report.problem ?? "")")
        }
    }

    @Test func `An answer over the limit of bytes is not read`() async throws {
        let length = PrometheusSource.maximumBytes + 1
        try await ScriptedServer.serving([
            [.send("HTTP/1.1 200 OK\r\ncontent-length: \(length)\r\n\r\na 1\n")]
        ]) { server in
            let source = try Self.source("http://127.0.0.1:\(server.port)/metrics")
            #expect(Self.values(await source.collect())["a"] == nil)
            #expect(source.report.problem?.contains("answered /metrics with \(length) bytes, over") == true)
        }
    }

    @Test func `A program that is not there is told`() async throws {
        // A port that was free a moment ago.
        var port = 0
        try await ScriptedServer.serving([]) { port = $0.port }
        let source = try Self.source("http://127.0.0.1:\(port)/metrics")
        #expect(Self.values(await source.collect())["ws1.metrics.up"] == .integer(0))
        #expect(source.report.problem?.hasPrefix("http://127.0.0.1:\(port)/metrics: ") == true)
    }

    @Test func `What is over the limit of series is counted`() async throws {
        let text = (0..<50).map { "n\($0) \($0)\n" }.joined()
        try await ScriptedServer.serving([Self.answer(text)]) { server in
            let source = try Self.source("http://127.0.0.1:\(server.port)/metrics", series: 20)
            let points = await source.collect()
            #expect(points.count { !$0.name.hasPrefix("ws1.") } == 20)
            #expect(Self.values(points)["ws1.metrics.refused"] == .integer(30))
        }
    }

    @Test(arguments: [
        "https://127.0.0.1:9100/metrics", "http://192.0.2.1/metrics", "http://device.test/metrics",
        "file:///etc/passwd",
        "127.0.0.1:9100", "http://user:secret@127.0.0.1/metrics",
    ])
    func `Only plain HTTP to this machine is allowed`(url: String) {
        let error = #expect(throws: MetricAddressError.self) { _ = try Self.source(url) }
        #expect(error?.message.contains("secret") == false)
    }

    @Test(.enabled(if: PythonClients.areInstalled, "needs Tools/metric-clients"))
    func `The library prometheus_client of PyPI is understood`() async throws {
        let program = try PythonClients.start(
            """
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, start_http_server
            registry = CollectorRegistry()
            Counter('orders', 'Orders', ['shop'], registry=registry).labels('a"b\\\\c').inc(3)
            Gauge('depth_bytes', 'Depth', registry=registry).set(7)
            Histogram('request_seconds', 'Requests', buckets=[1, 2], registry=registry).observe(1.5)
            Summary('size', 'Sizes', registry=registry).observe(4)
            Gauge('nothing', 'No value', registry=registry).set(float('nan'))
            server, thread = start_http_server(0, addr='127.0.0.1', registry=registry)
            print(server.server_port, flush=True)
            thread.join()
            """)
        defer { program.end() }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { memory.deallocate() }
        var text = ""
        while !text.hasSuffix("\n") {
            switch program.read(into: memory, milliseconds: 1_000) {
            case .bytes(let count): text += String(decoding: memory[..<count], as: UTF8.self)
            case .nothing: continue
            case .ended:
                while !program.isReaped() { await Task.yield() }
                Issue.record("\(program.objection ?? "it ended")")
                return
            }
        }
        let source = try Self.source("http://127.0.0.1:\(text.dropLast())/metrics")
        let points = await source.collect()
        #expect(source.report.problem == nil && source.report.invalid == 0)
        #expect(points.contains(MetricPoint("orders_total", attributes: ["shop": "a\"b\\c"], .number(3))))
        #expect(points.contains(MetricPoint("depth_bytes", unit: "By", .number(7))))
        #expect(points.contains(MetricPoint("request_seconds_bucket", attributes: ["le": "2.0"], .number(1))))
        #expect(points.contains(MetricPoint("request_seconds_sum", unit: "s", .number(1.5))))
        #expect(points.contains(MetricPoint("size_count", .number(1))))
        #expect(!points.contains { $0.name == "nothing" })
    }
}

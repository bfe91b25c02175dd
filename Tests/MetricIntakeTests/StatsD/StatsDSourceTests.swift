import Glibc
import TestKit
import Testing

@testable import MetricIntake

/// StatsD through real sockets. Row 19 of the table of cases: what the kernel drops is counted.
@Suite(.timeLimit(.minutes(5))) struct StatsDSourceTests {
    private static func source(_ address: String, series: Int = 100) throws -> StatsDSource {
        StatsDSource(.init(address: try StatsDAddress(address, fromOtherMachines: false), series: series))
    }

    /// A source that listens at a port of its own.
    private static func listening(series: Int = 100) async throws -> StatsDSource {
        let source = try source("127.0.0.1:0", series: series)
        source.begin()
        while source.port == 0 { await Task.yield() }
        return source
    }

    /// Samples until the values are there, added up.
    private static func sum(_ source: StatsDSource, until isEnough: ([String: Double]) -> Bool) async -> [String:
        Double]
    {
        var sums: [String: Double] = [:]
        while !isEnough(sums) {
            for point in await source.collect() {
                switch point.value {
                case .number(let value): sums[point.name, default: 0] += value
                case .integer(let value): sums[point.name, default: 0] += Double(value)
                case .flag, .text: break
                }
            }
            await Task.yield()
        }
        return sums
    }

    @Test func `Packets of a port are measurements, and none is lost that the kernel took`() async throws {
        let source = try await Self.listening()
        defer { source.end() }
        let sender = DatagramSender(port: source.port)
        for _ in 0..<200 { #expect(sender.send("hits:1|c|@0.5\nhits:1|c\nbad\n")) }
        let sums = await Self.sum(source) { $0["ws1.metrics.invalid"] == 200 }
        #expect(sums["hits"] == 600 && sums["ws1.metrics.kernel_drops"] == 0)
        #expect(source.report.invalid == 200)
    }

    @Test func `A Unix socket is open to all programs, and goes with the source`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("statsd.sock")
        let source = try Self.source(path)
        source.begin()
        while access(path, W_OK) != 0 { await Task.yield() }
        var status = stat()
        while stat(path, &status) == 0, status.st_mode & 0o777 != 0o666 { await Task.yield() }
        let sender = DatagramSender(path: path)
        while !sender.send("depth:4|g") { await Task.yield() }
        #expect(await Self.sum(source) { $0["depth"] != nil }["depth"] == 4)
        source.end()
        while access(path, F_OK) == 0 { await Task.yield() }
        // A second begin opens it again.
        source.begin()
        while access(path, F_OK) != 0 { await Task.yield() }
        source.end()
    }

    @Test func `A socket whose path somebody removed is opened anew at the next sample`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("statsd.sock")
        let source = try Self.source(path)
        source.begin()
        while access(path, W_OK) != 0 { await Task.yield() }
        unlink(path)
        while access(path, W_OK) != 0 {
            _ = await source.collect()
            await Task.yield()
        }
        let sender = DatagramSender(path: path)
        while !sender.send("depth:4|g") { await Task.yield() }
        #expect(await Self.sum(source) { $0["depth"] != nil }["depth"] == 4)
        source.end()
        while access(path, F_OK) == 0 { await Task.yield() }
    }

    @Test func `A port that is taken is told, and tried again at each sample`() async throws {
        let first = try await Self.listening()
        let second = try Self.source("127.0.0.1:\(first.port)")
        second.begin()
        while second.report.problem == nil { await Task.yield() }
        #expect(second.report.problem?.contains("another program has it") == true)
        #expect(await second.collect().first == MetricPoint("ws1.metrics.up", unit: "1", .integer(0)))
        first.end()
        while second.port == 0 {
            _ = await second.collect()
            await Task.yield()
        }
        #expect(await second.collect().first == MetricPoint("ws1.metrics.up", unit: "1", .integer(1)))
        second.end()
    }

    @Test func `What came before an end is not told after it`() async throws {
        let source = try await Self.listening()
        let sender = DatagramSender(port: source.port)
        sender.send("secret:1|c")
        // A second one, as a sign that the first has been taken.
        sender.send("bad")
        _ = await Self.sum(source) { $0["ws1.metrics.invalid"] == 1 }
        sender.send("secret:1|c")
        source.end()
        #expect(source.port == 0)
        source.begin()
        while source.port == 0 { await Task.yield() }
        let other = DatagramSender(port: source.port)
        other.send("fresh:1|c")
        let sums = await Self.sum(source) { $0["fresh"] != nil }
        #expect(sums["secret"] == nil)
        source.end()
    }

    @Test func `What the kernel drops is counted exactly, though nothing comes after it`() async throws {
        let source = try await Self.listening()
        defer { source.end() }
        // As small as the kernel allows, so that a few packets are too many for it.
        var bytes: Int32 = 1
        let descriptor = try #require(source.descriptor)
        #expect(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size)) == 0)
        let sender = DatagramSender(port: source.port)
        let packet = "hits:1|c" + String(repeating: "\n", count: 60_000)
        let sent = 500.0
        for _ in 0..<Int(sent) { #expect(sender.send(packet)) }
        let sums = await Self.sum(source) {
            $0["hits", default: 0] + $0["ws1.metrics.kernel_drops", default: 0] >= sent
        }
        #expect(sums["hits", default: 0] + sums["ws1.metrics.kernel_drops", default: 0] == sent)
        #expect(sums["ws1.metrics.kernel_drops", default: 0] > 0, "the buffer is too small for all")
        #expect(Double(source.report.kernelDrops) == sums["ws1.metrics.kernel_drops"])
    }

    @Test(
        .enabled(if: PythonClients.areInstalled, "needs Tools/metric-clients"))
    func `The client statsd of PyPI is understood`() async throws {
        let source = try await Self.listening()
        defer { source.end() }
        let objection = try PythonClients.run(
            """
            from sys import argv
            from statsd import StatsClient
            client = StatsClient('127.0.0.1', int(argv[1]), prefix='shop')
            client.incr('orders'); client.incr('orders', 4); client.decr('orders')
            client.gauge('depth', 5); client.gauge('depth', -2, delta=True)
            client.timing('request', 320)
            client.set('users', 'ada'); client.set('users', 'bob')
            with client.pipeline() as pipe:
                pipe.incr('many'); pipe.incr('many'); pipe.incr('last')
            """, ["\(source.port)"])
        #expect(objection == nil)
        let sums = await Self.sum(source) { $0["shop.last"] != nil }
        #expect(sums["shop.orders"] == 4 && sums["shop.depth"] == 3 && sums["shop.many"] == 2)
        #expect(sums["shop.request.sum"] == 320 && sums["shop.users"] == 2)
        #expect(sums["ws1.metrics.invalid"] == 0)
    }
}

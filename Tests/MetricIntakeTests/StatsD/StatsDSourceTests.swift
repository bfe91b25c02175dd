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

    @Test func `A socket whose owner died is replaced, and one that is in use is told with the remedy`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("statsd.sock")
        let address = try StatsDAddress(path, fromOtherMachines: false)
        let left = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafeBytes(of: name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(left, $0.baseAddress, socklen_t(bytes.count)) }
        }
        try #require(result == 0)
        let error = #expect(throws: MetricAddressError.self) { _ = try StatsDSocket(address) }
        #expect(error?.message.contains("Another program has it") == true)
        // As if its owner had been killed: closed, and the path is there.
        close(left)
        let socket = try StatsDSocket(address)
        #expect(access(path, F_OK) == 0)
        withExtendedLifetime(socket) {}
    }

    @Test func `A port that is taken is told, and tried again at each sample`() async throws {
        let first = try await Self.listening()
        let second = try Self.source("127.0.0.1:\(first.port)")
        second.begin()
        while second.report.problem == nil { await Task.yield() }
        #expect(second.report.problem?.contains("Another program has it") == true)
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

    @Test func `What the kernel drops is counted exactly`() throws {
        let socket = try StatsDSocket(try StatsDAddress("127.0.0.1:0", fromOtherMachines: false))
        // As small as the kernel allows.
        var bytes: Int32 = 1
        #expect(
            setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size)) == 0)
        let sender = DatagramSender(port: socket.port)
        let sent = 500
        for _ in 0..<sent { #expect(sender.send("hits:1|c")) }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { memory.deallocate() }
        var received = 0
        var dropped: UInt64 = 0
        while case .packet = socket.receive(into: memory, dropped: &dropped) { received += 1 }
        #expect(received < sent, "the buffer is too small for all")
        // The count of those that were dropped last comes with the next packet.
        #expect(sender.send("hits:1|c"))
        while case .packet = socket.receive(into: memory, dropped: &dropped) { received += 1 }
        #expect(received + Int(dropped) == sent + 1)
    }

    @Test func `A packet that is longer than the memory is cut, and says so`() throws {
        let socket = try StatsDSocket(try StatsDAddress("127.0.0.1:0", fromOtherMachines: false))
        DatagramSender(port: socket.port).send("0123456789")
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 16)
        defer { memory.deallocate() }
        var dropped: UInt64 = 0
        guard case .packet(4, isWhole: false) = socket.receive(into: memory, dropped: &dropped) else {
            Issue.record("no packet that was cut")
            return
        }
    }

    @Test func `Control messages are read as far as they are whole`() {
        var bytes = [UInt8](repeating: 0, count: 24)
        bytes.withUnsafeMutableBytes { control in
            var header = cmsghdr()
            (header.cmsg_len, header.cmsg_level, header.cmsg_type) = (20, SOL_SOCKET, 40)
            control.storeBytes(of: header, as: cmsghdr.self)
            control.storeBytes(of: 7, toByteOffset: 16, as: UInt32.self)
        }
        bytes.withUnsafeBytes { #expect(StatsDSocket.drops(in: $0) == 7) }
        for count in 0..<20 {
            bytes.withUnsafeBytes {
                #expect(StatsDSocket.drops(in: UnsafeRawBufferPointer(rebasing: $0[..<count])) == nil)
            }
        }
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

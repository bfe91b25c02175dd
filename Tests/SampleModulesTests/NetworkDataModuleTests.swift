import DeviceTestKit
import TestKit
import Testing
import WireModel

@testable import SampleModules

@Suite("NetworkData module on captured machines")
struct NetworkDataModuleTests {
    private static func at(_ seconds: UInt64) -> SampleTime {
        SampleTime(wallMicroseconds: 1_795_003_700_000_000, sinceBootMicroseconds: seconds * 1_000_000)
    }

    private static func module(_ host: CapturedHostSource, _ log: RecordedLog = RecordedLog()) -> NetworkDataModule {
        NetworkDataModule(host: host, logger: log.logger())
    }

    @Test
    func `roaming is what its source says at each sample, and otherwise unknown`() throws {
        let conditions = SetConditions()
        var module = NetworkDataModule(host: CapturedMachine.laptop.host(), logger: RecordedLog().logger()) {
            conditions.current().roaming
        }
        var seen: [WireVerdict] = []
        for (second, roaming) in [nil, true, false, nil].enumerated() {
            conditions.set { $0.roaming = roaming }
            seen.append(try Self.read(&module, 3_700 + UInt64(second)).roaming)
        }
        #expect(seen == [.unknown, .yes, .no, .unknown])
    }

    private static func interface(_ sample: WireNetworkDataSample?, _ name: String) -> WireInterfaceData? {
        sample?.interfaces.first { $0.name == name }
    }

    private static func count(_ host: CapturedHostSource, _ name: String, _ body: @escaping (inout [UInt64]) -> Void) {
        host.change { machine in
            guard let index = machine.network?.interfaces.firstIndex(where: { $0.name == name }) else { return }
            var counters = machine.network?.interfaces[index].counters ?? []
            body(&counters)
            machine.network?.interfaces[index].counters = counters
        }
    }

    private static func read(_ module: inout NetworkDataModule, _ seconds: UInt64) throws -> WireNetworkDataSample {
        let sample = module.read(at: at(seconds))
        return try #require(sample)
    }

    @Test
    func `the first sample has totals and no delta`() throws {
        var module = Self.module(CapturedMachine.laptop.host())
        let sample = try Self.read(&module, 3_700)
        #expect(!sample.hasIntervalMicroseconds && !sample.hasTcpActiveOpens && !sample.hasUdpErrors)
        #expect(
            sample.interfaces.map(\.name) == ["lo", "wlan0", "wwan0", "wg0", "docker0"],
            "what never moved a packet is left out")
        #expect(sample.interfaces.allSatisfy { !$0.hasDelta } && sample.classes.allSatisfy { !$0.hasDelta })
        let wlan = try #require(Self.interface(sample, "wlan0"))
        #expect(wlan.class == .wifi && wlan.total.receivedBytes == 2_500_000_000 && wlan.total.sentBytes == 120_000_000)
        #expect(wlan.total.receivedPackets == 2_000_000 && wlan.total.sentPackets == 900_000)
        #expect(wlan.total.receivedErrors == 0 && wlan.total.sentErrors == 2 && wlan.total.receivedDrops == 15)
        #expect(sample.tcpEstablished == 7 && sample.socketsInUse == 812 && sample.roaming == .unknown)
    }

    @Test
    func `deltas span from the sample before, per interface and class`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        Self.count(host, "wlan0") { counters in
            for place in counters.indices { counters[place] += UInt64(place + 1) }
        }
        host.set("/proc/net/snmp6", "Udp6InErrors                    \t5\n")
        host.change { machine in
            let text = String(decoding: machine.files["/proc/net/snmp"] ?? [], as: UTF8.self)
            let next = text.replacing(
                "-1 500 20 61 3 7 369518 368989 14 0 40 0", with: "-1 507 22 61 4 9 369518 368989 17 0 45 0"
            )
            .replacing("Udp: 52 1 4 ", with: "Udp: 52 1 6 ")
            machine.files["/proc/net/snmp"] = Array(next.utf8)
        }
        let sample = try Self.read(&module, 3_702)
        #expect(sample.intervalMicroseconds == 2_000_000)
        let delta = try #require(Self.interface(sample, "wlan0")).delta
        #expect(
            delta.receivedPackets == 1 && delta.sentPackets == 2 && delta.receivedBytes == 3 && delta.sentBytes == 4)
        #expect(delta.receivedErrors == 5 && delta.sentErrors == 6 && delta.receivedDrops == 7 && delta.sentDrops == 8)
        #expect(sample.classes.first { $0.class == .wifi }?.delta == delta)
        #expect(Self.interface(sample, "lo")?.delta == WireInterfaceCounters(), "known to have done nothing")
        #expect(
            sample.tcpActiveOpens == 7 && sample.tcpPassiveOpens == 2 && sample.tcpResetsReceived == 1
                && sample.tcpResetsSent == 5)
        #expect(
            sample.tcpRetransmits == 3 && sample.tcpEstablished == 9 && sample.udpErrors == 5, "of both versions of IP")
    }

    @Test(
        arguments: [
            (4_294_967_290, 10, 16 as UInt64?), (UInt64.max - 4, 5, 10), (UInt64(UInt32.max), 0, 1), (1_000, 5, nil),
            (2_000_000_000, 5, nil), (3_000_000_000, 2_999_999_999, nil), (1 << 40, 5, nil), (1 << 63, 5, nil),
            (7, 7, 0), (0, 0, 0),
            (0, .max, .max),
        ] as [(UInt64, UInt64, UInt64?)])
    func `counters that wrap go on, those that begin anew give nothing`(before: UInt64, now: UInt64, delta: UInt64?) {
        #expect(CounterDelta.since(before, now) == delta)
    }

    @Test
    func `one counter that began anew makes the whole interface incomparable, one that wrapped does not`() {
        let host = CapturedMachine.board.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(100))
        // Received bytes stood just below 32 bits.
        Self.count(host, "wlan0") { counters in
            counters[0] += 10
            counters[2] = 5_000
        }
        let wrapped = module.read(at: Self.at(101))
        #expect(Self.interface(wrapped, "wlan0")?.delta.receivedBytes == 5_000 + 296)
        #expect(Self.interface(wrapped, "wlan0")?.delta.receivedPackets == 10)
        Self.count(host, "wlan0") { $0 = [3, 2, 400, 300, 0, 0, 0, 0] }
        let reset = module.read(at: Self.at(102))
        #expect(
            Self.interface(reset, "wlan0")?.hasDelta == false
                && Self.interface(reset, "wlan0")?.total.receivedBytes == 400)
        #expect(reset?.classes.first { $0.class == .wifi }?.hasDelta == false)
        Self.count(host, "wlan0") { $0[2] += 1 }
        #expect(Self.interface(module.read(at: Self.at(103)), "wlan0")?.delta.receivedBytes == 1)
    }

    @Test
    func `totals of an interface that came or began anew say since when they count`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        func counted(_ second: UInt64, _ name: String) throws -> UInt64? {
            let interface = Self.interface(try Self.read(&module, second), name)
            return interface?.hasCountedMicroseconds == true ? interface?.countedMicroseconds : nil
        }
        #expect(try counted(3_700, "wg0") == nil)
        #expect(try counted(3_710, "wg0") == nil, "it was there before")
        host.change { machine in
            guard let place = machine.network?.interfaces.firstIndex(where: { $0.name == "wg0" }) else { return }
            machine.network?.interfaces[place].index = 12
        }
        #expect(try counted(3_720, "wg0") == 10_000_000, "it was made after the sample before")
        #expect(try counted(3_730, "wg0") == 20_000_000)
        Self.count(host, "wlan0") { $0 = [3, 2, 400, 300, 0, 0, 0, 0] }
        #expect(try counted(3_740, "wlan0") == 10_000_000, "its counters began anew")
    }

    @Test
    func `an interface made anew is not compared with its namesake, even if it counts higher`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        host.change { machine in
            guard let place = machine.network?.interfaces.firstIndex(where: { $0.name == "wg0" }) else { return }
            machine.network?.interfaces[place].index = 12
            machine.network?.interfaces[place].counters = [60_000, 50_000, 70_000_000, 9_000_000, 0, 0, 0, 0]
        }
        let anew = try Self.read(&module, 3_701)
        #expect(Self.interface(anew, "wg0")?.hasDelta == false && Self.interface(anew, "wg0")?.class == .tunnel)
        #expect(Self.interface(anew, "wlan0")?.hasDelta == true)
        #expect(Self.interface(module.read(at: Self.at(3_702)), "wg0")?.hasDelta == true)
    }

    @Test
    func `another hardware address means another adapter, another name the same one`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        host.change { machine in
            guard let place = machine.network?.interfaces.firstIndex(where: { $0.name == "wlan0" }) else { return }
            machine.network?.interfaces[place].address[5] = 1
            machine.network?.interfaces[place].counters[0] += 1
        }
        // Addresses and names are looked at every ten seconds.
        #expect(Self.interface(module.read(at: Self.at(3_710)), "wlan0")?.hasDelta == false)
        host.change { machine in
            guard let place = machine.network?.interfaces.firstIndex(where: { $0.name == "wlan0" }) else { return }
            machine.network?.interfaces[place].name = "wlp3s0"
            machine.network?.interfaces[place].counters[0] += 4
        }
        let renamed = module.read(at: Self.at(3_720))
        #expect(
            Self.interface(renamed, "wlp3s0")?.delta.receivedPackets == 4 && Self.interface(renamed, "wlan0") == nil)
    }

    @Test
    func `another boot is compared with nothing, whatever the counters and clocks say`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        Self.count(host, "wlan0") { $0[2] += 1_000 }
        host.set("/proc/sys/kernel/random/boot_id", "99999999-2222-4333-8444-555555555555")
        let other = try Self.read(&module, 3_800)
        #expect(
            !other.hasIntervalMicroseconds && other.interfaces.allSatisfy { !$0.hasDelta } && !other.hasTcpActiveOpens)
        let next = try Self.read(&module, 3_801)
        #expect(next.interfaces.allSatisfy { $0.hasDelta })
        let back = try Self.read(&module, 10)
        #expect(!back.hasIntervalMicroseconds && back.interfaces.allSatisfy { !$0.hasDelta })
    }

    @Test
    func `bonds, VLANs and bridges do not count twice in their class`() throws {
        let host = CapturedMachine.server.host()
        var module = Self.module(host)
        let sample = try Self.read(&module, 900_000)
        let ethernet = try #require(sample.classes.first { $0.class == .ethernet })
        #expect(ethernet.total.receivedBytes == 7_500_000_000_000 && ethernet.total.sentBytes == 3_700_000_000_000)
        #expect(
            Self.interface(sample, "bond0.100")?.class == .ethernet
                && Self.interface(sample, "br0")?.total.receivedDrops == 7)
        #expect(sample.classes.map(\.class) == [.ethernet, .loopback, .tunnel, .other])
        #expect(sample.interfaces.count == NetworkDataModule.maximumInterfaces && sample.interfaces.first?.name == "lo")
        let others = try #require(sample.classes.first { $0.class == .other })
        // The eighty of containers, the virtual machine's, InfiniBand; those past the bound too.
        #expect(others.total.receivedPackets == (0..<80).reduce(0) { $0 + 100 + $1 } + 1_000 + 7)
        #expect(sample.encoded.count < 8_000)
    }

    @Test
    func `links are listed every ten seconds and when a new interface shows, not with each sample`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        for second in 0..<10 { _ = module.read(at: Self.at(3_700 + UInt64(second))) }
        #expect(host.exchanges(of: LinkMessage.all) == 1 && host.exchanges(of: StatisticsMessage.all) == 10)
        #expect(host.reads(of: "/sys/class/net/wlan0/type") == 1)
        host.change { $0.network?.interfaces[5].index = 40 }
        _ = module.read(at: Self.at(3_709))
        #expect(host.exchanges(of: LinkMessage.all) == 2)
        _ = module.read(at: Self.at(3_719))
        #expect(host.exchanges(of: LinkMessage.all) == 3)
    }

    @Test
    func `a kernel that does not tell counters alone is asked for links`() throws {
        let host = CapturedMachine.laptop.host()
        host.change { $0.network?.hasStatistics = false }
        let log = RecordedLog()
        var module = Self.module(host, log)
        _ = module.read(at: Self.at(3_700))
        Self.count(host, "wlan0") { $0[2] += 9 }
        #expect(Self.interface(module.read(at: Self.at(3_701)), "wlan0")?.delta.receivedBytes == 9)
        #expect(log.entries == [])
    }

    @Test
    func `without netlink there are protocols still, without anything no sample, and each is traced once`() throws {
        let host = CapturedMachine.laptop.host()
        host.change { $0.network = nil }
        let log = RecordedLog()
        var module = Self.module(host, log)
        for second in 0..<3 {
            let sample = try Self.read(&module, 3_700 + UInt64(second))
            #expect(sample.interfaces.isEmpty && sample.classes.isEmpty && sample.tcpEstablished == 7)
        }
        #expect(log.entries == ["info netlink:route/18 absent"])
        var blind = Self.module(CapturedHostSource())
        guard case .none(let reason) = blind.sample(at: Self.at(1)) else {
            Issue.record("a machine that shows nothing gave a sample")
            return
        }
        #expect(reason.contains("network interfaces"))
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `garbled answers crash nothing and never give a sample that does not decode`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let host = CapturedMachine.laptop.host()
        let network = try #require(host.network)
        var module = Self.module(host)
        for second in 0..<200 {
            for request in [StatisticsMessage.all, LinkMessage.all] {
                var answer = try #require(network.answer(to: request))
                for _ in 0..<4 {
                    answer[Int(random.next() % UInt64(answer.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                host.change { $0.netlink[request] = answer }
            }
            if case .sample(let sample) = module.sample(at: Self.at(3_700 + UInt64(second))) {
                _ = try WireNetworkDataSample.decode(sample.body)
            }
        }
    }

    @Test
    func `a file of the protocols cut off anywhere gives only what the whole gives`() throws {
        var buffer = FileBuffer()
        _ = CapturedMachine.laptop.host().read("/proc/net/snmp", into: &buffer, maximumBytes: 1 << 16, keepOpen: false)
        let bytes = buffer.withBytes { Array($0) }
        func fields(_ count: Int) -> [UInt64?] {
            bytes[..<count].withUnsafeBytes { bytes in
                let file = SNMPFile(bytes)
                return [
                    file.tcpActiveOpens, file.tcpPassiveOpens, file.tcpResetsSent, file.tcpResetsReceived,
                    file.tcpRetransmits,
                    file.tcpEstablished, file.udpErrors,
                ]
            }
        }
        let whole = fields(bytes.count)
        #expect(whole == [500, 20, 40, 3, 14, 7, 4])
        for count in bytes.indices {
            #expect(zip(fields(count), whole).allSatisfy { $0 == nil || $0 == $1 }, "cut at \(count)")
        }
        #expect(Array("sockets: used 81".utf8).withUnsafeBytes { SocketStatistics($0) } == nil)
    }
}

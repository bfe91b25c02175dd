import DeviceTestKit
import Testing
import WireModel

@testable import SampleModules

@Suite("NetworkAdapter module on captured machines")
struct NetworkAdapterModuleTests {
    private static func at(_ seconds: UInt64) -> SampleTime {
        SampleTime(wallMicroseconds: 1_795_003_700_000_000, sinceBootMicroseconds: seconds * 1_000_000)
    }

    private static func module(_ host: CapturedHostSource, _ log: RecordedLog = RecordedLog()) -> NetworkAdapterModule {
        NetworkAdapterModule(host: host, logger: log.logger())
    }

    private static func read(_ module: inout NetworkAdapterModule, _ seconds: UInt64) throws -> WireNetworkAdapterSample
    {
        let sample = module.read(at: at(seconds))
        return try #require(sample)
    }

    @Test
    func `a laptop's adapters, gateways and name servers`() throws {
        var module = Self.module(CapturedMachine.laptop.host())
        let sample = try Self.read(&module, 3_700)
        #expect(sample.adapters.map(\.name) == ["lo", "enp0s31f6", "wlan0", "wwan0", "wg0", "docker0"])
        let wlan = sample.adapters[2]
        #expect(wlan.index == 3 && wlan.type == "ether" && wlan.driver == "iwlwifi" && wlan.mac == "9c:b6:d0:aa:bb:cc")
        #expect(wlan.mtu == 1_500 && wlan.operationalState == "up" && wlan.carrierChanges == 8 && wlan.class == .wifi)
        #expect(!wlan.hasSpeedMegabits && wlan.duplex.isEmpty)
        #expect(wlan.up && sample.adapters[1].hasUp && !sample.adapters[1].up)
        #expect(!sample.adapters[0].hasUp, "a loopback's state is unknown")
        #expect(
            wlan.addresses.map { "\($0.address)/\($0.prefixLength) \($0.scope)" }
                == ["192.168.7.23/24 global", "2001:db8:7::23/64 global", "fe80::9eb6:d0ff:feaa:bbcc/64 link"])
        #expect(
            sample.adapters[0].mac.isEmpty && sample.adapters[0].type == "loopback"
                && sample.adapters[0].addresses[0].scope == "host")
        #expect(sample.adapters[1].driver == "e1000e" && sample.adapters[1].operationalState == "down")
        #expect(!sample.adapters[1].hasSpeedMegabits, "-1 is no speed")
        #expect(
            sample.adapters[3].type == "none" && sample.adapters[3].class == .cellular
                && sample.adapters[3].driver == "cdc_mbim")
        #expect(sample.adapters[4].driver == "wireguard" && sample.adapters[5].driver == "bridge")
        #expect(sample.defaultGateways == ["192.168.7.1", "fe80::1"])
        #expect(sample.dnsServers == ["192.168.7.1", "2001:db8:7::53"], "not the stub")
    }

    @Test
    func `a server's speeds, gateways by metric, and a bound on adapters`() throws {
        var module = Self.module(CapturedMachine.server.host())
        let sample = try Self.read(&module, 900_000)
        #expect(sample.adapters.count == NetworkAdapterModule.maximumAdapters)
        #expect(sample.adapters[1].speedMegabits == 10_000 && sample.adapters[1].duplex == "full")
        #expect(sample.adapters[4].driver == "bond" && sample.adapters[4].class == .ethernet)
        #expect(sample.defaultGateways == ["10.20.0.1", "10.20.100.1", "2001:db8:20::1"])
        #expect(sample.dnsServers == ["10.20.0.2", "10.20.0.3"])
        #expect(sample.encoded.count < 8_000)
    }

    @Test
    func `drivers are read once, speed again when the link changes and every half minute`() throws {
        let host = CapturedMachine.server.host()
        var module = Self.module(host)
        for second in 0..<30 { _ = module.read(at: Self.at(900_000 + UInt64(second))) }
        #expect(host.reads(of: "/sys/class/net/eno1/speed") == 1 && host.reads(of: "/etc/resolv.conf") == 1)
        host.change { machine in
            machine.network?.interfaces[1].carrierChanges = 4
            machine.files["/sys/class/net/eno1/speed"] = Array("1000\n".utf8)
            machine.links["/sys/class/net/eno1/device/driver"] = "../other"
        }
        let changed = try Self.read(&module, 900_029)
        #expect(changed.adapters[1].speedMegabits == 1_000 && changed.adapters[1].carrierChanges == 4)
        #expect(changed.adapters[1].driver == "ixgbe")
        _ = module.read(at: Self.at(900_060))
        #expect(host.reads(of: "/sys/class/net/eno1/speed") == 3 && host.reads(of: "/etc/resolv.conf") == 2)
    }

    @Test
    func `an index used anew by another interface is another adapter`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        host.change { machine in
            machine.network?.interfaces[2].name = "usb0"
            machine.files["/sys/class/net/usb0/type"] = Array("1\n".utf8)
            machine.links["/sys/class/net/usb0/device"] = "x"
            machine.links["/sys/class/net/usb0/device/driver"] = "../drivers/cdc_ether"
        }
        let sample = try Self.read(&module, 3_701)
        #expect(
            sample.adapters[2].name == "usb0" && sample.adapters[2].driver == "cdc_ether"
                && sample.adapters[2].class == .ethernet)
    }

    @Test
    func `what is not told is left out: addresses, routes, name servers`() throws {
        let host = CapturedMachine.board.host()
        let log = RecordedLog()
        host.change { machine in
            machine.netlinkFailures[AddressMessage.all] = .failed(errno: 110)
            machine.netlinkFailures[RouteMessage.main(2)] = .denied
            machine.files["/etc/resolv.conf"] = nil
        }
        var module = Self.module(host, log)
        for second in 0..<3 {
            let sample = try Self.read(&module, 100 + UInt64(second))
            #expect(sample.adapters.count == 3 && sample.adapters.allSatisfy(\.addresses.isEmpty))
            #expect(sample.defaultGateways.isEmpty && sample.dnsServers.isEmpty)
        }
        #expect(log.entries == ["warning netlink:route/22 failed(errno: 110)", "warning netlink:route/26 denied"])
    }

    @Test(arguments: [
        ("nameserver 1.1.1.1\nnameserver\t8.8.8.8 # note\n", ["1.1.1.1", "8.8.8.8"]),
        ("#nameserver 1.1.1.1\n nameserver 2.2.2.2\n", []),
        ("nameserver\n", []), ("# by hand\nnameserver 1.1.1.1\r\nnameserver 8.8.8.8", ["1.1.1.1", "8.8.8.8"]),
        ("\u{FEFF}nameserver 1.1.1.1\r", ["1.1.1.1"]),
        ("nameserver 1.1.1.1\n\r\n\nnameserver 8.8.8.8\r\r\n", ["1.1.1.1", "8.8.8.8"]),
        ("options x\nnameserver fe80::1%eth0\n", ["fe80::1%eth0"]),
    ])
    func `name servers as resolv.conf(5) has them`(content: String, servers: [String]) {
        #expect(Array(content.utf8).withUnsafeBytes { ResolverFile($0).servers } == servers)
    }

    @Test
    func `of a resolv.conf that is too long the lines within the limit count`() throws {
        let host = CapturedMachine.laptop.host()
        let first = "nameserver 1.1.1.1\n#"
        let filler = String(repeating: "x", count: 64 * 1024 - first.utf8.count - 16)
        host.set("/etc/resolv.conf", first + filler + "\nnameserver 192.0.2.53\n")
        var module = Self.module(host)
        let sample = try Self.read(&module, 1)
        #expect(sample.dnsServers == ["1.1.1.1"])
    }

    @Test
    func `a resolver of its own on another loopback address is shown as it is`() throws {
        let host = CapturedMachine.laptop.host()
        host.set("/etc/resolv.conf", "nameserver 127.0.0.1\n")
        var module = Self.module(host)
        let sample = try Self.read(&module, 1)
        #expect(sample.dnsServers == ["127.0.0.1"])
    }
}

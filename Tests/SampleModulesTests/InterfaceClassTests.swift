import DeviceTestKit
import Testing
import WireModel

@testable import SampleModules

@Suite("Classes of interfaces and the default route")
struct InterfaceClassTests {
    private static func host(_ files: [String: String], links: [String: String] = [:]) -> CapturedHostSource {
        let host = CapturedHostSource()
        host.change { machine in
            for (path, content) in files { machine.files["/sys/class/net/\(path)"] = Array("\(content)\n".utf8) }
            for (path, target) in links { machine.links["/sys/class/net/\(path)"] = target }
        }
        return host
    }

    @Test(
        arguments: [
            (CapturedMachine.laptop, "lo", WireNetworkClass.loopback), (.laptop, "enp0s31f6", .ethernet),
            (.laptop, "wlan0", .wifi),
            (.laptop, "wwan0", .cellular), (.laptop, "wg0", .tunnel), (.laptop, "docker0", .other),
            (.laptop, "nosuch", .unknown),
            (.laptop, "../net/lo", .unknown), (.laptop, "", .unknown), (.laptop, "..", .unknown),
            (.server, "eno1", .ethernet), (.server, "bond0", .ethernet), (.server, "bond0.100", .ethernet),
            (.server, "br0", .ethernet),
            (.server, "vnet0", .other), (.server, "docker0", .other), (.server, "veth0003", .other),
            (.server, "vxlan7", .tunnel),
            (.server, "ib0", .other), (.board, "eth0", .ethernet), (.board, "wlan0", .wifi),
        ] as [(CapturedMachine, String, WireNetworkClass)])
    func `on captured machines`(machine: CapturedMachine, name: String, networkClass: WireNetworkClass) {
        #expect(InterfaceClass.classify(name, host: machine.host()) == networkClass)
    }

    @Test
    func `what stands on others is stacked, and a tunnel on a bond is a tunnel`() {
        let host = CapturedMachine.server.host()
        for name in ["bond0", "bond0.100", "br0", "docker0"] {
            #expect(InterfaceClass.of(name, host: host).isStacked, "\(name)")
        }
        for name in ["eno1", "vnet0", "veth0000", "vxlan7", "lo"] {
            #expect(!InterfaceClass.of(name, host: host).isStacked, "\(name)")
        }
    }

    @Test
    func `modems, taps, tunnels and radios of odd drivers`() {
        let host = Self.host(
            [
                "eth1/type": "1", "rmnet0/type": "519", "mon0/type": "803", "tun0/type": "65534",
                "tun0/tun_flags": "0x1001",
                "tap0/type": "1", "tap0/tun_flags": "0x1002", "sit0/type": "776", "ppp0/type": "512", "old0/type": "1",
                "old0/wireless/status": "0", "bnep0/type": "1", "bnep0/uevent": "DEVTYPE=bluetooth",
                "odd0/type": "nonsense",
                "wwan1/type": "1", "wwan1/uevent": "INTERFACE=wwan1\nDEVTYPE=wwan", "nolower/type": "1",
                "nolower/uevent": "DEVTYPE=bridge",
            ],
            links: [
                "eth1/device": "x", "eth1/device/driver": "../../bus/usb/drivers/qmi_wwan", "bnep0/device": "x",
                "old0/device": "x",
                "wwan1/device": "x",
            ])
        let expected: [(String, WireNetworkClass)] = [
            ("eth1", .cellular), ("rmnet0", .cellular), ("wwan1", .cellular), ("mon0", .wifi), ("old0", .wifi),
            ("tun0", .tunnel),
            ("tap0", .tunnel), ("sit0", .tunnel), ("ppp0", .other), ("bnep0", .other), ("odd0", .unknown),
            ("nolower", .other),
        ]
        for (name, networkClass) in expected {
            #expect(InterfaceClass.classify(name, host: host) == networkClass, "\(name)")
        }
    }

    @Test
    func `a pile has the class people pay most for, and a circle ends`() {
        let host = Self.host(
            [
                "bond1/type": "1", "a/type": "1", "b/type": "1", "c/type": "1", "d/type": "1",
                "b/uevent": "DEVTYPE=wwan",
            ],
            links: [
                "bond1/lower_a": "../a", "bond1/lower_b": "../b", "a/device": "x", "b/device": "x", "c/lower_d": "x",
                "d/lower_c": "x",
            ])
        #expect(InterfaceClass.classify("bond1", host: host) == .cellular)
        #expect(InterfaceClass.classify("c", host: host) == .other)
    }

    @Test
    func `the default route is the main table's with the lowest metric, whatever tunnels put beside it`() {
        #expect(DefaultRoute.interface(host: CapturedMachine.laptop.host()) == "wlan0")
        #expect(DefaultRoute.interface(host: CapturedMachine.server.host()) == "br0")
        #expect(DefaultRoute.interface(host: CapturedMachine.board.host()) == "wlan0")
    }

    @Test
    func `IPv6 alone is a network too; without any route, or netlink, there is none`() {
        let host = CapturedMachine.laptop.host()
        host.change { $0.network?.routes.removeAll { !$0.isVersion6 } }
        #expect(DefaultRoute.interface(host: host) == "wlan0")
        host.change { $0.network?.routes = [] }
        #expect(DefaultRoute.interface(host: host) == nil)
        host.change { $0.network = nil }
        #expect(DefaultRoute.interface(host: host) == nil)
        host.change { $0.netlinkFailures[RouteMessage.main(2)] = .denied }
        #expect(DefaultRoute.interface(host: host) == nil)
    }

    @Test
    func `of this machine the loopback interface is told, and its default route is one of its interfaces`() {
        let host = LinuxHostSource()
        #expect(InterfaceClass.classify("lo", host: host) == .loopback)
        if let name = DefaultRoute.interface(host: host) {
            #expect(host.list("/sys/class/net", maximumEntries: 4_096)?.contains(name) == true)
            #expect(![.unknown, .loopback].contains(InterfaceClass.classify(name, host: host)))
        }
    }
}

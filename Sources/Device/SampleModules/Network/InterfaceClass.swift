import WireModel

/// The rules for the class of network that an interface belongs to.
///
/// | class | what counts as it |
/// |---|---|
/// | loopback | `lo` |
/// | wifi | a radio of the kernel's wireless stack, by `phy80211`, `wireless` or `DEVTYPE=wlan` |
/// | cellular | a modem, by `DEVTYPE=wwan`, its driver (`qmi_wwan`, `cdc_mbim` ...) or raw IP frames |
/// | tunnel | tun, WireGuard, IP in IP, GRE, SIT, VXLAN and the like, and taps that are in no bridge |
/// | ethernet | Ethernet with a device behind it, a virtual machine's included |
/// | other | what has nothing behind it (`veth`, `dummy`, `ifb`, a bridge of containers), PPP, CAN, Bluetooth |
///
/// A VLAN, bond, bridge or MACVLAN has the class of what it stands on, and where that differs the one that people pay
/// most for: cellular, wifi, ethernet, tunnel, other.
package struct InterfaceClass: Equatable, Sendable {
    package let networkClass: WireNetworkClass
    /// The interface is stacked on other interfaces of this machine, which count the same bytes.
    package let isStacked: Bool

    /// - Returns: `unknown` if the interface does not exist or the system reports nothing about it.
    package static func classify(_ interface: String, host: any HostSource) -> WireNetworkClass {
        of(interface, host: host).networkClass
    }

    package static func of(_ interface: String, host: any HostSource) -> InterfaceClass {
        of(interface, host: host, depth: 4)
    }

    /// How deep stacked interfaces are followed. A VLAN in a bridge on a bond needs three.
    private static func of(_ interface: String, host: any HostSource, depth: Int) -> InterfaceClass {
        // A name is one path component, never a path.
        guard !interface.isEmpty, !interface.contains("/"), interface != ".", interface != ".." else {
            return InterfaceClass(networkClass: .unknown, isStacked: false)
        }
        let facts = InterfaceFacts(of: interface, host: host)
        if let networkClass = facts.ownClass { return InterfaceClass(networkClass: networkClass, isStacked: false) }
        let lower = depth > 0 ? facts.lower.prefix(64).map { of($0, host: host, depth: depth - 1).networkClass } : []
        let order: [WireNetworkClass] = [.cellular, .wifi, .ethernet, .tunnel]
        return InterfaceClass(networkClass: order.first(where: lower.contains) ?? .other, isStacked: true)
    }
}

/// The facts that `/sys/class/net` gives about an interface.
struct InterfaceFacts: Equatable, Sendable {
    /// `ARPHRD_*`; without it the class is unknown.
    var hardwareType: UInt64?
    /// `DEVTYPE` of `uevent`, the driver's name for the kind of device. Absent for plain Ethernet.
    var deviceType: String?
    /// Has a radio that the kernel's wireless stack knows.
    var isWireless = false
    /// The driver of the device behind it.
    var driver: String?
    /// The interface belongs to a device on a bus, real or virtual.
    var hasDevice = false
    /// `IFF_TUN` 1, `IFF_TAP` 2; absent for all others.
    var tunFlags: UInt64?
    /// The interface is part of a bridge or bond.
    var hasMaster = false
    /// The interfaces below: a VLAN's trunk, the parts of a bridge or bond.
    var lower: [String] = []

    init() {}

    init(of interface: String, host: any HostSource) {
        let directory = "\(Self.directory)/\(interface)"
        var buffer = FileBuffer(capacity: 512)
        func line<Value>(_ name: String, _ parse: (UnsafeRawBufferPointer) -> Value?) -> Value? {
            guard host.read("\(directory)/\(name)", into: &buffer, maximumBytes: 4_096, keepOpen: false) == .complete
            else { return nil }
            return buffer.withBytes(parse)
        }
        hardwareType = line("type") { bytes in
            var scanner = ByteScanner(bytes.trimmed)
            return scanner.number()
        }
        guard hardwareType != nil else { return }
        deviceType = line("uevent") { bytes in
            for line in CompleteLines(bytes) {
                var scanner = ByteScanner(line)
                if scanner.consume("DEVTYPE=") { return scanner.rest().text }
            }
            return nil
        }
        tunFlags = line("tun_flags") { bytes in
            let text = bytes.trimmed.text
            return text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
        }
        let names = host.list(directory, maximumEntries: 1_024) ?? []
        isWireless = names.contains("phy80211") || names.contains("wireless")
        hasDevice = names.contains("device")
        hasMaster = names.contains("master")
        lower = names.filter { $0.hasPrefix("lower_") }.map { String($0.dropFirst("lower_".count)) }
        if hasDevice, let target = host.readLink("\(directory)/device/driver") {
            driver = target.split(separator: "/").last.map(String.init)
        }
    }

    static let directory = "/sys/class/net"

    // <linux/if_arp.h>
    private static let loopback: UInt64 = 772
    private static let ethernet: UInt64 = 1
    private static let rawIP: UInt64 = 519
    /// IEEE 802.11, with headers of Prism and radiotap.
    private static let radio: Set<UInt64> = [801, 802, 803]
    /// IP in IP, IPv6 in IPv6, SIT, GRE, GRE over IPv6.
    private static let tunnels: Set<UInt64> = [768, 769, 776, 778, 823]
    private static let tunnelTypes: Set<String> = [
        "wireguard", "vxlan", "geneve", "gtp", "amt", "bareudp", "vti", "xfrm",
    ]

    /// Drivers of modems. Some kernels and vendors do not set `DEVTYPE=wwan`.
    private static let modemDrivers: Set<String> = [
        "qmi_wwan", "qmi_wwan_q", "cdc_mbim", "huawei_cdc_ncm", "sierra_net", "GobiNet", "hso", "option", "iosm",
        "mtk_t7xx", "mhi_net",
        "mhi_wwan_mbim", "wwan_hwsim", "ipa", "bam-dmux", "kalmia", "cx82310_eth",
    ]

    /// The class, if the interface alone shows it; `nil` if it has the class of the interfaces below.
    var ownClass: WireNetworkClass? {
        guard let hardwareType else { return .unknown }
        if hardwareType == Self.loopback { return .loopback }
        if isWireless || deviceType == "wlan" || Self.radio.contains(hardwareType) { return .wifi }
        if deviceType == "wwan" || hardwareType == Self.rawIP || driver.map(Self.modemDrivers.contains) == true {
            return .cellular
        }
        if Self.tunnels.contains(hardwareType) || deviceType.map(Self.tunnelTypes.contains) == true { return .tunnel }
        if let tunFlags {
            // A tap in a bridge is a virtual machine's cable. A tap by itself is a VPN that carries frames.
            return tunFlags & 2 != 0 && hasMaster ? .other : .tunnel
        }
        // ARPHRD_NONE without a device: packets without frames, which only tunnels have.
        if hardwareType == 65_534 { return .tunnel }
        if !lower.isEmpty { return nil }
        return hardwareType == Self.ethernet && hasDevice && deviceType != "bluetooth" ? .ethernet : .other
    }
}

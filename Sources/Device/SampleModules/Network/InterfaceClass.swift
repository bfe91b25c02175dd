import WireModel

/// Which class of network an interface belongs to.
///
/// | class | what is taken for it |
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
    /// It stands on other interfaces of this machine, which count the same bytes.
    package let isStacked: Bool

    /// - Returns: `unknown` where the system has no such interface or tells nothing of it.
    package static func classify(_ interface: String, host: any HostSource) -> WireNetworkClass {
        of(interface, host: host).networkClass
    }

    package static func of(_ interface: String, host: any HostSource) -> InterfaceClass {
        of(interface, host: host, depth: 4)
    }

    /// How far a pile of interfaces is followed: a VLAN in a bridge on a bond is three.
    private static func of(_ interface: String, host: any HostSource, depth: Int) -> InterfaceClass {
        // A name is one component of a path, never a path.
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

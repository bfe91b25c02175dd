/// The kernel's numbers for kinds of link layers (`ARPHRD_*` of `<linux/if_arp.h>`).
enum HardwareType {
    /// The names that `ip link` prints; for others the number.
    static func name(_ type: UInt16) -> String {
        switch type {
        case 1: "ether"
        case 24: "ieee1394"
        case 32: "infiniband"
        case 280: "can"
        case 512: "ppp"
        case 519: "rawip"
        case 768: "ipip"
        case 769: "tunnel6"
        case 772: "loopback"
        case 776: "sit"
        case 778: "gre"
        case 801: "ieee802.11"
        case 802: "ieee802.11/prism"
        case 803: "ieee802.11/radiotap"
        case 804: "ieee802.15.4"
        case 823: "gre6"
        case 824: "netlink"
        case 825: "6lowpan"
        case 826: "vsockmon"
        case 65_534: "none"
        default: String(type)
        }
    }

    /// Whether the hardware address is one of a MAC layer; tunnels hold their ends' IP addresses in its place.
    static func hasMAC(_ type: UInt16) -> Bool {
        switch type {
        case 1, 24, 32, 801...804: true
        default: false
        }
    }
}

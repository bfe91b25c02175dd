import Logging
import WireModel

/// The NetworkAdapter module: the machine's network adapters with their settings, its default gateways and name
/// servers.
///
/// Each sample reads two rtnetlink lists (links, addresses) and the main routing tables. Values that seldom change are
/// cached by interface index. The driver is kept as long as the interface lives. Class, speed and duplex are kept until
/// the state changes, and at most ``slowSeconds`` seconds, because the driver must be asked for them.
package struct NetworkAdapterModule: SampleModule {
    /// The longest time that speed, duplex, class and name servers are reused, in seconds.
    static let slowSeconds: UInt64 = 30
    /// The most adapters in a sample. The oldest ones are included.
    static let maximumAdapters = 64
    static let maximumAddresses = 32
    private static let maximumGateways = 16
    private static let maximumAnswer = 1024 * 1024

    private struct Details {
        var name: String
        var driver: String
        var networkClass: WireNetworkClass
        var speed: UInt32?
        var duplex: String
        /// The state for which the cached values were read. Another state or carrier makes them stale.
        var state: UInt8?
        var carrierChanges: UInt32?
        var read: UInt64
    }

    package let name = SampleModuleName.networkAdapter

    private var reader: FileReader
    private var details: [UInt32: Details] = [:]
    private var servers: [String] = []
    private var serversRead: UInt64?

    package init(host: any HostSource, logger: Logger) {
        reader = FileReader(host: host, logger: logger)
    }

    package mutating func sample(at time: SampleTime) -> SampleResult {
        guard let sample = read(at: time) else {
            return .none(reason: "the kernel tells nothing about network adapters")
        }
        return .sample(Sample(kind: .sampleNetworkAdapter, module: name.rawValue, body: sample.encoded))
    }

    /// Takes one sample as a message.
    mutating func read(at time: SampleTime) -> WireNetworkAdapterSample? {
        let now = time.sinceBootMicroseconds
        let links = reader.exchange(LinkMessage.all, maximumBytes: Self.maximumAnswer) {
            $0.compactMap { LinkMessage($0) }
        }
        guard let links else { return nil }
        let addresses = reader.exchange(AddressMessage.all, maximumBytes: Self.maximumAnswer) { messages in
            Dictionary(grouping: messages.compactMap { AddressMessage($0) }, by: \.index)
        }

        var sample = WireNetworkAdapterSample()
        let shown = links.sorted { $0.index < $1.index }.prefix(Self.maximumAdapters)
        var current: [UInt32: Details] = [:]
        sample.adapters = shown.map { link in
            let details = self.details(of: link, now: now)
            current[link.index] = details
            return Self.adapter(link, details, addresses?[link.index] ?? [])
        }
        details = current
        sample.defaultGateways = gateways()
        sample.dnsServers = nameServers(now: now)
        return sample
    }

    private static func adapter(_ link: LinkMessage, _ details: Details, _ addresses: [AddressMessage])
        -> WireNetworkAdapter
    {
        var adapter = WireNetworkAdapter()
        adapter.name = link.name
        adapter.index = link.index
        adapter.type = HardwareType.name(link.hardwareType)
        adapter.driver = details.driver
        if HardwareType.hasMAC(link.hardwareType), link.address.contains(where: { $0 != 0 }) {
            adapter.mac = MACAddress.text(link.address)
        }
        if let mtu = link.mtu { adapter.mtu = mtu }
        if let state = link.operationalState.flatMap(stateName) {
            adapter.operationalState = state
            // Drivers of loopback and tunnels leave it at "unknown".
            if state != "unknown" { adapter.up = state == "up" }
        }
        if let changes = link.carrierChanges { adapter.carrierChanges = UInt64(changes) }
        if let speed = details.speed { adapter.speedMegabits = speed }
        adapter.duplex = details.duplex
        adapter.addresses = addresses.prefix(maximumAddresses).map { address in
            var message = WireInterfaceAddress()
            message.address = address.address.text
            message.prefixLength = UInt32(address.prefixLength)
            if let scope = address.scopeName { message.scope = scope }
            return message
        }
        adapter.class = details.networkClass
        return adapter
    }

    /// `IF_OPER_*`, named as in `/sys/class/net/*/operstate`.
    private static func stateName(_ state: UInt8) -> String? {
        let names = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"]
        return names.indices.contains(Int(state)) ? names[Int(state)] : nil
    }

    private mutating func details(of link: LinkMessage, now: UInt64) -> Details {
        let known = details[link.index].flatMap { $0.name == link.name ? $0 : nil }
        if let known, known.state == link.operationalState, known.carrierChanges == link.carrierChanges,
            now >= known.read,
            now - known.read < Self.slowSeconds * 1_000_000
        {
            return known
        }
        let directory = "\(InterfaceFacts.directory)/\(link.name)"
        // For a virtual interface the kind is the driver's name, as in ethtool.
        let driver =
            known?.driver ?? link.kind
            ?? reader.host.readLink("\(directory)/device/driver")?.split(separator: "/").last.map(String.init)
        // Both files fail while the link is down, and hold -1 or "unknown" if there is no such value.
        let speed = reader.signedNumber("\(directory)/speed").flatMap { $0 > 0 ? UInt32(exactly: $0) : nil }
        let duplex = reader.line("\(directory)/duplex")
        return Details(
            name: link.name, driver: driver ?? "", networkClass: InterfaceClass.classify(link.name, host: reader.host),
            speed: speed,
            duplex: duplex == "full" || duplex == "half" ? duplex ?? "" : "", state: link.operationalState,
            carrierChanges: link.carrierChanges, read: now)
    }

    /// Gateways without duplicates, preferred ones first, IPv4 before IPv6.
    private mutating func gateways() -> [String] {
        var gateways: [String] = []
        for family in [IPAddress.version4, IPAddress.version6] {
            // A machine without IPv6 has no such routes.
            let isTraced = family == IPAddress.version4
            let routes = reader.exchange(
                RouteMessage.main(family), maximumBytes: DefaultRoute.maximumBytes, traced: isTraced
            ) {
                DefaultRoute.defaults(of: $0)
            }
            for gateway in (routes ?? []).flatMap(\.hops).compactMap({ $0.gateway?.text })
            where !gateways.contains(gateway) {
                if gateways.count < Self.maximumGateways { gateways.append(gateway) }
            }
        }
        return gateways
    }

    private mutating func nameServers(now: UInt64) -> [String] {
        guard Self.isDue(&serversRead, every: Self.slowSeconds, now: now) else { return servers }
        let file = reader.parse(ResolverFile.path, maximumBytes: 64 * 1024, traced: false) { ResolverFile($0) }
        servers = file?.servers ?? []
        if file?.isStub == true,
            let real = reader.parse(
                ResolverFile.resolvedPath, maximumBytes: 64 * 1024, traced: false, { ResolverFile($0) }),
            !real.servers.isEmpty
        {
            servers = real.servers
        }
        return servers
    }
}

/// The kernel's numbers for kinds of link layers (`ARPHRD_*` of `<linux/if_arp.h>`).
enum HardwareType {
    /// The names that `ip link` prints, or the number.
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

    /// Whether the hardware address is a MAC address. Tunnels have the IP addresses of their ends there.
    static func hasMAC(_ type: UInt16) -> Bool {
        switch type {
        case 1, 24, 32, 801...804: true
        default: false
        }
    }
}

/// Hardware addresses as people write them.
enum MACAddress {
    /// `02:42:ac:11:00:02`
    static func text(_ address: [UInt8]) -> String {
        address.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}

/// `resolv.conf(5)`: the name servers in use.
struct ResolverFile: Equatable {
    static let path = "/etc/resolv.conf"
    /// The servers that systemd-resolved asks. Used if the file above names only its stub.
    static let resolvedPath = "/run/systemd/resolve/resolv.conf"
    /// The resolver itself uses three. More are listed for people.
    static let maximumServers = 16

    var servers: [String] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in WrittenLines(bytes) where servers.count < Self.maximumServers {
            var scanner = ByteScanner(line)
            // The keyword begins the line. Text after the second word is a comment.
            guard scanner.consume("nameserver"), let server = scanner.word() else { continue }
            servers.append(server.text)
        }
    }

    /// The file names only systemd-resolved itself. The real servers are elsewhere.
    var isStub: Bool { !servers.isEmpty && servers.allSatisfy { $0 == "127.0.0.53" || $0 == "127.0.0.54" } }
}

import SampleModules

/// Writes answers byte by byte after the kernel's headers (`<linux/rtnetlink.h>`, `<linux/if_link.h>`,
/// `<linux/nl80211.h>`), with attributes among them that nobody here asks for, as the kernel does.
extension CapturedNetwork {
    /// The messages that answer a request; `nil` where the kernel refuses it.
    package func answer(to request: NetlinkRequest) -> [UInt8]? {
        let payload = request.payload
        switch (request.family, request.type) {
        case (.route, 18) where request.isDump: return interfaces.flatMap { Self.message(16, link($0)) }
        case (.route, 18):
            let index = Self.number(payload, 4)
            return interfaces.first { $0.index == index }.map { Self.message(16, link($0)) }
        case (.route, 94):
            return hasStatistics ? interfaces.flatMap { Self.message(92, statistics($0)) } : nil
        case (.route, 22): return addresses.flatMap { Self.message(20, address($0)) }
        case (.route, 26):
            return routes.filter { $0.isVersion6 == (payload[0] == 10) }.flatMap { Self.message(24, route($0)) }
        case (.generic, 16):
            return wirelessFamily.map { Self.message(16, Self.family($0)) }
        case (.generic, let family) where family == wirelessFamily:
            return wireless(family, command: payload[0], interface: payload.count >= 12 ? Self.number(payload, 8) : nil)
        default: return nil
        }
    }

    /// A message with its header and padding, as part of a list.
    package static func message(
        _ type: UInt16, _ body: [UInt8], sequence: UInt32 = 7, port: UInt32 = 4_242, flags: UInt16 = 2
    ) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add(UInt32(16 + body.count))
        bytes.add(type)
        bytes.add(flags)
        bytes.add(sequence)
        bytes.add(port)
        bytes.add(body)
        return bytes.bytes + [UInt8](repeating: 0, count: (4 - bytes.bytes.count % 4) % 4)
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }

    // MARK: - rtnetlink

    private func link(_ interface: Interface) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add(UInt16(0))
        bytes.add(interface.type)
        bytes.add(interface.index)
        bytes.add(UInt32(0x1_1043))
        bytes.add(UInt32(0))
        bytes.add(attribute: 3, text: interface.name)
        bytes.add(attribute: 13, number: UInt32(1_000))
        bytes.add(attribute: 16, number: interface.operationalState)
        bytes.add(attribute: 4, number: interface.mtu)
        bytes.add(attribute: 35, number: interface.carrierChanges)
        bytes.add(attribute: 33, number: UInt8(interface.operationalState == 6 ? 1 : 0))
        if !interface.address.isEmpty { bytes.add(attribute: 1, interface.address) }
        // The older statistics of 32 bits.
        bytes.add(
            attribute: 7,
            interface.counters.flatMap { counter in
                withUnsafeBytes(of: UInt32(truncatingIfNeeded: counter)) { Array($0) }
            })
        bytes.add(attribute: 23, Self.counters(interface))
        if let kind = interface.kind {
            var information = NetlinkBytes()
            information.add(attribute: 1, text: kind)
            // NLA_F_NESTED
            bytes.add(attribute: 18 | 0x8000, information.bytes)
        }
        return bytes.bytes
    }

    private func statistics(_ interface: Interface) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add(UInt32(0))
        bytes.add(interface.index)
        bytes.add(UInt32(1))
        bytes.add(attribute: 1, Self.counters(interface))
        return bytes.bytes
    }

    private static func counters(_ interface: Interface) -> [UInt8] {
        var bytes = NetlinkBytes()
        for counter in interface.counters { bytes.add(counter) }
        // Multicast, collisions and seventeen more.
        for _ in interface.counters.count..<25 { bytes.add(UInt64(3)) }
        return bytes.bytes
    }

    private func address(_ address: Address) -> [UInt8] {
        let isVersion6 = address.bytes.count == 16
        var bytes = NetlinkBytes()
        bytes.add([isVersion6 ? 10 : 2, address.prefixLength, 0x80, address.scope])
        bytes.add(address.interface)
        bytes.add(attribute: 1, address.bytes)
        if !isVersion6 { bytes.add(attribute: 2, address.bytes) }
        bytes.add(attribute: 8, number: UInt32(0x80))
        return bytes.bytes
    }

    private func route(_ route: Route) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add([route.isVersion6 ? 10 : 2, route.prefixLength, 0, 0, UInt8(clamping: route.table), 3, 0, 1])
        bytes.add(UInt32(0))
        bytes.add(attribute: 15, number: route.table)
        if !route.destination.isEmpty { bytes.add(attribute: 1, route.destination) }
        bytes.add(attribute: 6, number: route.metric)
        if let gateway = route.gateway { bytes.add(attribute: 5, gateway) }
        bytes.add(attribute: 4, number: route.interface)
        return bytes.bytes
    }

    // MARK: - nl80211

    private static func family(_ number: UInt16) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add([1, 2, 0, 0])
        bytes.add(attribute: 2, text: "nl80211")
        bytes.add(attribute: 1, number: number)
        bytes.add(attribute: 3, number: UInt32(1))
        return bytes.bytes
    }

    private func wireless(_ family: UInt16, command: UInt8, interface: UInt32?) -> [UInt8]? {
        let radio = radios.first { $0.index == interface }
        switch command {
        case 5: return radios.flatMap { Self.message(family, Self.interface($0)) }
        case 17: return radio.map { radio in radio.station.map { Self.message(family, Self.station($0, radio)) } ?? [] }
        case 32: return radio.map { radio in radio.networks.flatMap { Self.message(family, Self.network($0, radio)) } }
        case 50: return radio.map { radio in radio.channels.flatMap { Self.message(family, Self.channel($0, radio)) } }
        default: return nil
        }
    }

    private static func interface(_ radio: Radio) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add([7, 1, 0, 0])
        bytes.add(attribute: 3, number: radio.index)
        bytes.add(attribute: 4, text: radio.name)
        bytes.add(attribute: 1, number: UInt32(0))
        bytes.add(attribute: 5, number: radio.type)
        bytes.add(attribute: 153, number: UInt64(1))
        bytes.add(attribute: 6, [2, 0, 0, 0, 0, UInt8(truncatingIfNeeded: radio.index)])
        if radio.frequency > 0 {
            bytes.add(attribute: 38, number: radio.frequency)
            bytes.add(attribute: 159, number: radio.width)
        }
        if !radio.ssid.isEmpty { bytes.add(attribute: 52, radio.ssid) }
        return bytes.bytes
    }

    private static func station(_ station: Station, _ radio: Radio) -> [UInt8] {
        func rate(_ units: UInt32) -> [UInt8] {
            var bytes = NetlinkBytes()
            bytes.add(attribute: 1, number: UInt16(clamping: units))
            bytes.add(attribute: 5, number: units)
            bytes.add(attribute: 2, number: UInt8(7))
            return bytes.bytes
        }
        var information = NetlinkBytes()
        information.add(attribute: 1, number: UInt32(12))
        information.add(attribute: 7, number: station.signal)
        information.add(attribute: 13, number: station.signal)
        information.add(attribute: 8 | 0x8000, rate(station.transmitRate))
        information.add(attribute: 14 | 0x8000, rate(station.receiveRate))
        information.add(attribute: 11, number: station.retries)
        information.add(attribute: 12, number: station.failures)
        information.add(attribute: 16, number: station.connectedSeconds)
        information.add(attribute: 18, number: station.beaconLosses)
        var bytes = NetlinkBytes()
        bytes.add([19, 1, 0, 0])
        bytes.add(attribute: 3, number: radio.index)
        bytes.add(attribute: 6, station.address)
        bytes.add(attribute: 46, number: UInt32(9))
        bytes.add(attribute: 21 | 0x8000, information.bytes)
        return bytes.bytes
    }

    private static func network(_ network: Network, _ radio: Radio) -> [UInt8] {
        var information = NetlinkBytes()
        information.add(attribute: 1, network.bssid)
        information.add(attribute: 6, network.elements)
        information.add(attribute: 3, number: UInt64(123_456))
        information.add(attribute: 4, number: UInt16(100))
        information.add(attribute: 5, number: network.capability)
        information.add(attribute: 2, number: network.frequency)
        information.add(attribute: 7, number: Int32(-5_600))
        if let status = network.status { information.add(attribute: 9, number: status) }
        var bytes = NetlinkBytes()
        bytes.add([34, 1, 0, 0])
        bytes.add(attribute: 46, number: UInt32(9))
        bytes.add(attribute: 3, number: radio.index)
        bytes.add(attribute: 47 | 0x8000, information.bytes)
        return bytes.bytes
    }

    private static func channel(_ channel: Channel, _ radio: Radio) -> [UInt8] {
        var information = NetlinkBytes()
        information.add(attribute: 1, number: channel.frequency)
        information.add(attribute: 2, number: channel.noise)
        if channel.isInUse { information.add(attribute: 3, []) }
        var bytes = NetlinkBytes()
        bytes.add([51, 1, 0, 0])
        bytes.add(attribute: 3, number: radio.index)
        bytes.add(attribute: 84 | 0x8000, information.bytes)
        return bytes.bytes
    }
}

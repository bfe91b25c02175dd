import DeviceTestKit
import Testing

@testable import SampleModules

@Suite("Decoders of netlink messages")
struct NetlinkDecodingTests {
    private static func decode<Value>(_ bytes: [UInt8], _ body: (NetlinkMessages) -> Value) -> Value {
        bytes.withUnsafeBytes { body(NetlinkMessages($0)) }
    }

    /// What is known after decoding, one line per field that is there.
    private static func facts(_ value: some Any) -> [String] {
        Mirror(reflecting: value).children.compactMap { child in
            let text = "\(child.value)"
            return text == "nil" || text == "[]" ? nil : "\(type(of: value)).\(child.label ?? "")=\(text)"
        }
    }

    private static func facts(of message: NetlinkMessages.Message) -> [String] {
        let link = LinkMessage(message).map { facts($0) } ?? []
        let address = AddressMessage(message).map { facts($0) } ?? []
        let statistics = StatisticsMessage(message).map { facts($0) } ?? []
        return link + address + statistics + wirelessFacts(of: message)
    }

    private static func wirelessFacts(of message: NetlinkMessages.Message) -> [String] {
        // An association that the beginning does not mention is no fact.
        let network = WLANNetworkMessage(message).flatMap { $0.isAssociated ? facts($0) : nil } ?? []
        let survey = WLANSurveyMessage(message).flatMap { $0.isInUse ? facts($0) : nil } ?? []
        return (WLANInterfaceMessage(message).map { facts($0) } ?? [])
            + (WLANStationMessage(message).map { facts($0) } ?? [])
            + network + survey
    }

    private static func allFacts(_ messages: NetlinkMessages) -> [String] {
        messages.flatMap { facts(of: $0) + (RouteMessage($0).map { facts($0) } ?? []) }
    }

    private static func answers(_ machine: CapturedMachine) -> [[UInt8]] {
        guard let network = machine.host().network, let family = network.wirelessFamily else { return [] }
        let requests =
            [
                LinkMessage.all, AddressMessage.all, StatisticsMessage.all, RouteMessage.main(2), RouteMessage.main(10),
                NL80211.interfaces(family: family),
            ]
            + network.radios.flatMap { radio in
                [
                    NL80211.stations(family: family, interface: radio.index),
                    NL80211.scanResults(family: family, interface: radio.index),
                    NL80211.survey(family: family, interface: radio.index),
                ]
            }
        return requests.compactMap { network.answer(to: $0) }
    }

    @Test
    func `what a kernel sent is read: links`() throws {
        let loopback = try #require(
            Self.decode(CapturedDatagrams.loopback[0]) { $0.compactMap { LinkMessage($0) } }.first)
        #expect(loopback.name == "lo" && loopback.index == 1 && loopback.hardwareType == 772 && loopback.mtu == 65_536)
        #expect(
            loopback.address == [0, 0, 0, 0, 0, 0] && loopback.operationalState == 0 && loopback.carrierChanges == 0)
        let ethernet = try #require(
            Self.decode(CapturedDatagrams.ethernet[0]) { $0.compactMap { LinkMessage($0) } }.first)
        #expect(ethernet.name == "eth0" && ethernet.index == 4 && ethernet.hardwareType == 1 && ethernet.mtu == 1_400)
        #expect(
            MACAddress.text(ethernet.address) == "02:fc:00:00:00:01" && ethernet.operationalState == 6
                && ethernet.kind == nil)
        let counters = try #require(ethernet.statistics)
        #expect(
            counters.receivedPackets > 0 && counters.receivedBytes > counters.receivedPackets
                && counters.sentErrors == 0)
    }

    @Test
    func `what a kernel sent is read: addresses, routes, counters, families`() throws {
        let addresses = Self.decode(CapturedDatagrams.addresses[0]) { $0.compactMap { AddressMessage($0) } }
        let texts = addresses.map { "\($0.index) \($0.address.text)/\($0.prefixLength) \($0.scopeName ?? "?")" }
        #expect(
            texts.contains("1 127.0.0.1/8 host") && texts.contains("4 192.0.2.2/24 global")
                && texts.contains("1 ::1/128 host"))
        let routes = Self.decode(CapturedDatagrams.routes4[0]) { DefaultRoute.defaults(of: $0) }
        #expect(
            routes.flatMap(\.hops).compactMap { $0.gateway?.text } == ["192.0.2.1"]
                && routes.first?.hops.first?.interface == 4)
        #expect(Self.decode(CapturedDatagrams.routes4[0]) { $0.compactMap { RouteMessage($0) } }.count == 2)
        let routes6 = Self.decode(CapturedDatagrams.routes6[0]) { $0.compactMap { RouteMessage($0) } }
        #expect(routes6.map(\.isDefault) == [false, false, true] && routes6.map(\.metric) == [256, 256, 1_024])
        #expect(routes6.allSatisfy { $0.table == 254 && $0.hops.map(\.interface) == [4] })
        #expect(routes6.flatMap(\.hops).compactMap { $0.gateway?.text } == ["fd00::1"])
        let statistics = Self.decode(CapturedDatagrams.statistics[0]) { $0.compactMap { StatisticsMessage($0) } }
        #expect(statistics.map(\.index) == [1, 2, 3, 4])
        #expect(statistics[0].statistics.receivedPackets == statistics[0].statistics.sentPackets)
        #expect(Self.decode(CapturedDatagrams.controller[0]) { GenericNetlink.familyNumber($0) } == 16)
        #expect(Self.decode(CapturedDatagrams.unknownFamily[0]) { GenericNetlink.familyNumber($0) } == nil)
    }

    @Test
    func `the messages of a captured machine are read whole`() throws {
        let network = try #require(CapturedMachine.laptop.host().network)
        let station = try #require(
            network.answer(to: NL80211.stations(family: 28, interface: 3)).flatMap {
                Self.decode($0) { $0.compactMap { WLANStationMessage($0) } }
            })
        #expect(station.count == 1)
        #expect(station[0].signal == -56 && station[0].transmitRate == 866_700 && station[0].receiveRate == 780_000)
        #expect(station[0].transmitRetries == 1_200 && station[0].transmitFailures == 3 && station[0].beaconLosses == 1)
        let wide = try #require(
            network.answer(to: RouteMessage.main(2)).map { Self.decode($0) { $0.compactMap { RouteMessage($0) } } })
        #expect(wide.map(\.table) == [254, 254, 254, 51_820])
    }

    @Test
    func `an answer cut off at any byte gives only what the whole gives`() {
        for answer in CapturedDatagrams.all.map({ $0.flatMap { $0 } }) + Self.answers(.laptop) + Self.answers(.board) {
            let whole = Set(Self.decode(answer, Self.allFacts))
            var wrong = 0
            for count in 0..<answer.count
            where !whole.isSuperset(of: Self.decode(Array(answer[..<count]), Self.allFacts)) { wrong += 1 }
            #expect(wrong == 0)
        }
    }

    @Test
    func `a message whose attributes end at any byte gives only what the whole gives`() {
        var checked = 0
        for answer in CapturedDatagrams.all.map({ $0.flatMap { $0 } }) + Self.answers(.laptop) + Self.answers(.board) {
            Self.decode(answer) { messages in
                for message in messages {
                    let whole = Set(Self.facts(of: message))
                    for count in 0..<message.body.count {
                        let part = NetlinkMessages.Message(
                            type: message.type, body: UnsafeRawBufferPointer(rebasing: message.body[..<count]))
                        if !whole.isSuperset(of: Self.facts(of: part)) {
                            Issue.record("\(message.type) cut at \(count)")
                        }
                        checked += 1
                    }
                }
            }
        }
        #expect(checked > 5_000)
    }

    /// How many of an answer's values are such that no kernel means them.
    private static func absurdities(_ messages: NetlinkMessages) -> Int {
        var count = 0
        func check(_ isPlausible: Bool) { count += isPlausible ? 0 : 1 }
        for message in messages {
            if let link = LinkMessage(message) { check(link.index > 0 && !link.name.isEmpty) }
            if let address = AddressMessage(message) { check(address.prefixLength <= address.address.bytes.count * 8) }
            if let route = RouteMessage(message) { check(route.hops.allSatisfy { $0.interface > 0 }) }
            _ = StatisticsMessage(message)
            if let radio = WLANInterfaceMessage(message) {
                check(radio.ssid.map { (1...32).contains($0.count) } ?? true)
            }
            if let station = WLANStationMessage(message) {
                check(station.address.count == 6 && station.signal ?? -1 < 0 && station.transmitRate ?? 1 > 0)
            }
            if let network = WLANNetworkMessage(message) { check(network.bssid.count == 6) }
            if let survey = WLANSurveyMessage(message) { check(survey.noise ?? -1 < 0) }
        }
        _ = DefaultRoute.defaults(of: messages)
        _ = GenericNetlink.familyNumber(messages)
        return count
    }

    @Test
    func `a flipped bit crashes nothing, and what is out of range is left out`() {
        for answer in CapturedDatagrams.all.map({ $0.flatMap { $0 } }) + Self.answers(.laptop) {
            var bytes = answer
            var absurd = 0
            for position in bytes.indices {
                for bit in [position % 8, (position + 3) % 8] {
                    bytes[position] ^= 1 << UInt8(bit)
                    absurd += Self.decode(bytes, Self.absurdities)
                    bytes[position] = answer[position]
                }
            }
            #expect(absurd == 0)
        }
    }

    @Test
    func `routes over several gateways, through the other family, and dead ones`() throws {
        func route(_ attributes: (inout NetlinkBytes) -> Void, flags: UInt32 = 0, type: UInt8 = 1) -> RouteMessage? {
            var bytes = NetlinkBytes()
            bytes.add([2, 0, 0, 0, 254, 3, 0, type])
            bytes.add(flags)
            attributes(&bytes)
            return Self.decode(CapturedNetwork.message(24, bytes.bytes)) { $0.compactMap { RouteMessage($0) } }.first
        }
        func hop(_ interface: UInt32, _ gateway: [UInt8], flags: UInt8 = 0) -> [UInt8] {
            var bytes = NetlinkBytes()
            bytes.add(UInt16(16))
            bytes.add([flags, 0])
            bytes.add(interface)
            bytes.add(attribute: 5, gateway)
            return bytes.bytes
        }
        let several = route {
            $0.add(attribute: 9, hop(2, [10, 0, 0, 1]) + hop(3, [10, 0, 0, 2], flags: 1) + hop(4, [10, 0, 0, 3]))
        }
        #expect(several?.hops.map(\.interface) == [2, 4])
        #expect(several?.hops.compactMap { $0.gateway?.text } == ["10.0.0.1", "10.0.0.3"])
        let via = route {
            $0.add(attribute: 18, [10, 0] + [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [1])
            $0.add(attribute: 4, number: UInt32(5))
        }
        #expect(via?.hops.map(\.interface) == [5] && via?.hops.first?.gateway?.text == "fe80::1")
        #expect(route({ $0.add(attribute: 4, number: UInt32(5)) }, flags: 16)?.hops == [])
        #expect(route({ $0.add(attribute: 4, number: UInt32(5)) }, type: 7)?.hops == [], "unreachable")
    }
}

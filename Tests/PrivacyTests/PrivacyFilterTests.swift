import Foundation
import SwiftProtobuf
import Testing
import WireModel

@testable import Privacy

@Suite struct PrivacyFilterTests {
    static let key = Data(repeating: 7, count: 32)

    private static func filter(_ actions: [FieldClass: WirePrivacyAction], key: Data = key) -> PrivacyFilter {
        let profile = Dictionary(uniqueKeysWithValues: actions.map { ($0.key.rawValue, $0.value) })
        return PrivacyFilter(policy: .resolve(local: [:], profile: profile), key: key)
    }

    private static func all(_ action: WirePrivacyAction, key: Data = key) -> PrivacyFilter {
        filter(Dictionary(uniqueKeysWithValues: FieldClass.decidable.map { ($0, action) }), key: key)
    }

    private static func filtered<M: Message>(_ message: M, _ kind: WireRecordKind, _ filter: PrivacyFilter) throws -> M
    {
        try M.decode(filter.filtered(message.encoded, kind: kind))
    }

    private static func beacon() -> WireBeacon {
        var beacon = WireBeacon()
        beacon.deviceName = "annas-laptop.example.org"
        beacon.application = "com.example.app"
        beacon.userEmail = "Anna.Muster@example.org"
        beacon.userFullName = "Anna Maria Muster"
        beacon.userDisplayName = "Anna"
        beacon.location.latitude = 48.137154
        beacon.location.longitude = 11.576124
        beacon.location.altitudeMeters = 519.25
        beacon.location.accuracyMeters = 3
        beacon.location.time = 1_795_000_000_000_000
        beacon.findings = [
            WireFinding.with {
                $0.detector = "tracer"; $0.evidence = "gdb run by anna"
            }
        ]
        beacon.uptimeSeconds = 60
        return beacon
    }

    private static func wlan() -> WireWLANSample {
        var interface = WireWLANInterface()
        interface.name = "wlan0"
        interface.ssid = Data([0x43, 0x61, 0x66, 0xE9])  // Latin 1: not UTF-8
        interface.bssid = "00:1B:21:aa:bb:cc"
        interface.signalDecibelMilliwatts = -61
        return WireWLANSample.with { $0.interfaces = [interface] }
    }

    private static func adapters() -> WireNetworkAdapterSample {
        func address(_ text: String) -> WireInterfaceAddress {
            WireInterfaceAddress.with {
                $0.address = text; $0.prefixLength = 24; $0.scope = "global"
            }
        }
        var adapter = WireNetworkAdapter()
        adapter.name = "enx001b21aabbcc"
        adapter.mac = "00:1b:21:aa:bb:cc"
        adapter.mtu = 1_500
        adapter.addresses = [
            address("192.0.2.77"), address("2001:db8:1:2:21b:21ff:feaa:bbcc"), address("fe80::21b:21ff:feaa:bbcc%enx"),
            address("::ffff:192.0.2.77"),
        ]
        return WireNetworkAdapterSample.with {
            $0.adapters = [adapter]; $0.defaultGateways = ["192.0.2.1"]; $0.dnsServers = ["2001:db8:1::53"]
        }
    }

    // MARK: Nothing to do

    @Test func `Bodies about which nothing is to be done come back byte for byte`() {
        let filter = Self.all(.send)
        for (kind, body) in [
            (.beacon, Self.beacon().encoded), (.sampleWlan, Self.wlan().encoded),
            (.sampleNetworkAdapter, Self.adapters().encoded),
            (.sampleAnalytics, WireAnalyticsSample.with { $0.launches = 3 }.encoded), (.event, Data()),
        ] as [(WireRecordKind, Data)] {
            #expect(filter.filtered(body, kind: kind) == body)
        }
    }

    @Test func `The defaults remove network names and positions and nothing else`() throws {
        let filter = PrivacyFilter(policy: PrivacyPolicy(), key: Self.key)
        var expected = Self.beacon()
        expected.clearLocation()
        #expect(try Self.filtered(Self.beacon(), .beacon, filter) == expected)
        var wlan = Self.wlan()
        wlan.interfaces[0].clearSsid()
        wlan.interfaces[0].clearBssid()
        #expect(try Self.filtered(Self.wlan(), .sampleWlan, filter) == wlan)
        #expect(try Self.filtered(Self.adapters(), .sampleNetworkAdapter, filter) == Self.adapters())
    }

    // MARK: Drop

    @Test func `What is dropped is absent, and what is technical stays`() throws {
        let filter = Self.all(.drop)
        let beacon = try Self.filtered(Self.beacon(), .beacon, filter)
        var left = WireBeacon()
        left.application = "com.example.app"
        left.findings = [WireFinding.with { $0.detector = "tracer" }]
        left.uptimeSeconds = 60
        #expect(beacon == left)
        let adapters = try Self.filtered(Self.adapters(), .sampleNetworkAdapter, filter)
        #expect(adapters.adapters[0].name == "enx", "the address in the name goes with the class of the address")
        #expect(adapters.adapters[0].mac.isEmpty && adapters.adapters[0].mtu == 1_500)
        #expect(adapters.adapters[0].addresses.allSatisfy { $0.address.isEmpty && $0.prefixLength == 24 })
        #expect(adapters.defaultGateways.isEmpty && adapters.dnsServers.isEmpty)
        let event = try Self.filtered(Self.event(), .event, filter)
        #expect(
            event
                == WireEvent.with {
                    $0.type = .custom; $0.name = "door.opened"; $0.succeeded = true
                })
    }

    @Test func `No personal text is left in any body, whatever the action but send`() throws {
        let secrets = [
            "anna", "Muster", "00:1b:21:aa:bb:cc", "001b21aabbcc", "21b:21ff:feaa", "192.0.2.77", "stick", "48.13",
        ]
        let information = WireCommandResult.with {
            $0.detail = "sent to anna"
            $0.deviceInformation.identity.hostName = "annas-laptop"
            $0.deviceInformation.attributes = ["owner": "Anna Muster"]
        }
        let system = WireSystemSample.with {
            $0.identity.hostName = "annas-laptop"
            $0.fileSystems = [
                WireFileSystem.with {
                    $0.mountPoint = "/media/anna/stick"; $0.device = "/dev/mapper/anna"; $0.size = 5
                }
            ]
        }
        let custom = WireCustomSample.with {
            $0.measurements = [
                WireMeasurement.with {
                    $0.name = "jobs"; $0.attributes = ["user": "anna"]; $0.value.text = "Anna Muster"
                }
            ]
        }
        let network = WireNetworkDataSample.with {
            $0.interfaces = [WireInterfaceData.with { $0.name = "wlx001b21aabbcc" }]
        }
        let bodies: [(WireRecordKind, Data)] = [
            (.beacon, Self.beacon().encoded), (.sampleNetworkAdapter, Self.adapters().encoded),
            (.event, Self.event().encoded),
            (.commandResult, information.encoded), (.sampleSystem, system.encoded), (.sampleCustom, custom.encoded),
            (.sampleNetworkData, network.encoded),
        ]
        for action in [WirePrivacyAction.hash, .coarsen, .drop] {
            for (kind, body) in bodies {
                let text = String(decoding: Self.all(action).filtered(body, kind: kind), as: UTF8.self).lowercased()
                for secret in secrets where text.contains(secret.lowercased()) {
                    Issue.record("\(kind) under \(action) still says \(secret)")
                }
            }
        }
        let left = try WireSystemSample.decode(Self.all(.drop).filtered(system.encoded, kind: .sampleSystem))
        #expect(left.fileSystems.count == 1 && left.fileSystems[0].size == 5 && left.fileSystems[0].mountPoint.isEmpty)
    }

    // MARK: Hash

    @Test func `Equal values of a class hash alike under one key and under no other`() throws {
        let one = try Self.filtered(Self.wlan(), .sampleWlan, Self.all(.hash)).interfaces[0]
        let again = try Self.filtered(Self.wlan(), .sampleWlan, Self.all(.hash)).interfaces[0]
        let other = try Self.filtered(Self.wlan(), .sampleWlan, Self.all(.hash, key: Data(repeating: 8, count: 32)))
            .interfaces[0]
        #expect(one == again)
        #expect(one.ssid != other.ssid && one.bssid != other.bssid)
        #expect(String(decoding: one.ssid, as: UTF8.self).wholeMatch(of: /hash:[0-9a-f]{24}/) != nil)
        #expect(one.bssid.wholeMatch(of: /hash:[0-9a-f]{24}/) != nil)
        #expect(one.signalDecibelMilliwatts == -61)
    }

    @Test func `The hash is HMAC-SHA-256 of domain, class and value`() throws {
        // printf 'ws1-privacy-1\0user\0anna.muster@example.org' | openssl dgst -sha256 -mac HMAC -macopt
        // hexkey:0707...07
        let beacon = try Self.filtered(Self.beacon(), .beacon, Self.all(.hash))
        #expect(beacon.userEmail == "hash:79fb8c001f13761b70a07d44")
        // ... 'device-name\0annas-laptop.example.org'
        #expect(beacon.deviceName == "hash:8edeefcab9c057169702e863")
        #expect(!beacon.hasLocation, "a hash of numbers hides nothing")
    }

    @Test func `One value hashes differently in another class and alike in another spelling`() throws {
        func bssid(_ text: String) throws -> String {
            var sample = Self.wlan()
            sample.interfaces[0].bssid = text
            return try Self.filtered(sample, .sampleWlan, Self.all(.hash)).interfaces[0].bssid
        }
        let adapters = try Self.filtered(Self.adapters(), .sampleNetworkAdapter, Self.all(.hash))
        #expect(try bssid("00:1B:21:AA:BB:CC") == bssid("00-1b-21-aa-bb-cc"))
        #expect(try bssid("00:1b:21:aa:bb:cc") != adapters.adapters[0].mac)
        #expect(
            adapters.adapters[0].name == "enx" + adapters.adapters[0].mac, "name and address stay the same adapter's")
    }

    @Test func `Without a key, a hash is a drop`() throws {
        let beacon = try Self.filtered(Self.beacon(), .beacon, Self.all(.hash, key: Data()))
        #expect(beacon.deviceName.isEmpty && !beacon.hasUserEmail)
        let adapters = try Self.filtered(Self.adapters(), .sampleNetworkAdapter, Self.all(.hash, key: Data()))
        #expect(adapters.adapters[0].name == "enx" && adapters.adapters[0].mac.isEmpty)
    }

    @Test func `Numbers of an event are dropped where its words are hashed`() throws {
        let event = try Self.filtered(Self.event(), .event, Self.all(.hash))
        #expect(Set(event.attributes.keys) == ["who"])
        #expect(event.attributes["who"]?.text.hasPrefix("hash:") == true)
        #expect(!event.hasValue)
    }

    // MARK: Coarsen

    /// Degrees, the grid, and what is left.
    @Test(arguments: [
        (52.516279, 0.01, 52.52), (52.516279, 0.0001, 52.5163), (52.516279, 0.5, 52.5), (-52.516279, 0.25, -52.5),
        (52.516279, 10, 50), (0.004, 0.01, 0), (89.999, 7, 84), (-90, 7, -84), (179.999, 0.01, 180), (-180, 7, -175),
        (178, 7, 175), (52.516279, 0.3, 52.5),
    ])
    func `A coarse position is on the grid, and never beyond the poles`(degrees: Double, grid: Double, coarse: Double)
        throws
    {
        let filter = PrivacyFilter(
            policy: .resolve(local: [.position: .coarsen], profile: ["position": .send]), key: Self.key,
            positionGrid: grid)
        var sample = WireGPSSample()
        if abs(degrees) <= 90 { sample.location.latitude = degrees } else { sample.location.longitude = degrees }
        let location = try Self.filtered(sample, .sampleGps, filter).location
        #expect(abs((abs(degrees) <= 90 ? location.latitude : location.longitude) - coarse) < 1e-9)
    }

    @Test func `Coarse values are what the table says`() throws {
        let beacon = try Self.filtered(Self.beacon(), .beacon, Self.all(.coarsen))
        #expect(beacon.deviceName == "example.org")
        #expect(beacon.userEmail == "@example.org")
        #expect(beacon.userFullName == "A. M. M." && beacon.userDisplayName == "A.")
        #expect(beacon.location.latitude == 48.14 && beacon.location.longitude == 11.58)
        #expect(!beacon.location.hasAltitudeMeters && !beacon.location.hasAccuracyMeters)
        #expect(beacon.location.time == 1_795_000_000_000_000)

        let interface = try Self.filtered(Self.wlan(), .sampleWlan, Self.all(.coarsen)).interfaces[0]
        #expect(!interface.hasSsid && interface.bssid == "00:1b:21")

        let adapters = try Self.filtered(Self.adapters(), .sampleNetworkAdapter, Self.all(.coarsen))
        #expect(adapters.adapters[0].name == "enx001b21" && adapters.adapters[0].mac == "00:1b:21")
        #expect(
            adapters.adapters[0].addresses.map(\.address) == [
                "192.0.2.0", "2001:db8:1::", "fe80::", "::ffff:192.0.2.0",
            ])
        #expect(adapters.defaultGateways == ["192.0.2.0"] && adapters.dnsServers == ["2001:db8:1::"])
    }

    @Test func `Coarse events keep sizes and days, but no words`() throws {
        let event = try Self.filtered(Self.event(), .event, Self.all(.coarsen))
        #expect(event.value.integer == -12_000)
        #expect(Set(event.attributes.keys) == ["load", "when", "before", "loud"])
        #expect(event.attributes["load"]?.real == 0.012)
        #expect(event.attributes["when"]?.date == 1_794_960_000_000_000, "2026-11-18, at midnight")
        #expect(event.attributes["before"]?.date == -86_400_000_000)
        #expect(event.attributes["loud"]?.boolean == true)
    }

    @Test(arguments: [
        ("laptop", ""), ("laptop.", ""), ("not an address", ""),
    ])
    func `What has no coarse form is dropped`(text: String, result: String) throws {
        var beacon = WireBeacon()
        beacon.deviceName = text.hasPrefix("laptop") ? text : ""
        beacon.userEmail = text
        var sample = WireNetworkAdapterSample()
        sample.dnsServers = [text]
        let filtered = try Self.filtered(beacon, .beacon, Self.all(.coarsen))
        #expect(filtered.deviceName == result && !filtered.hasUserEmail)
        #expect(try Self.filtered(sample, .sampleNetworkAdapter, Self.all(.coarsen)).dnsServers == [])
    }

    @Test func `A hardware address does not leave inside an Internet address`() throws {
        let adapters = try Self.filtered(Self.adapters(), .sampleNetworkAdapter, Self.filter([.mac: .drop]))
        #expect(
            adapters.adapters[0].addresses.map(\.address) == [
                "192.0.2.77", "2001:db8:1:2::", "fe80::%enx", "::ffff:192.0.2.77",
            ])
    }

    @Test func `Ordinary interface names are technical`() throws {
        for name in ["eth0", "enp3s0", "wlan0", "enx001b21aabbc", "enx001b21aabbcg"] {
            let sample = WireNetworkDataSample.with { $0.interfaces = [WireInterfaceData.with { $0.name = name }] }
            #expect(try Self.filtered(sample, .sampleNetworkData, Self.all(.drop)) == sample)
        }
    }

    @Test func `Figures of custom modules are their own, and their labels are not`() throws {
        let sample = WireCustomSample.with {
            $0.measurements = [
                WireMeasurement.with {
                    $0.name = "jobs"; $0.unit = "1"; $0.attributes = ["user": "anna"]; $0.value.integer = 12_345
                }
            ]
        }
        let measurement = try Self.filtered(sample, .sampleCustom, Self.all(.coarsen)).measurements[0]
        #expect(
            measurement
                == WireMeasurement.with {
                    $0.name = "jobs"; $0.unit = "1"; $0.value.integer = 12_345
                })
    }

    // MARK: Unknown

    @Test func `Unknown fields and kinds do not leak`() throws {
        // Field 99 of a Beacon, and field 77 inside its operating system: a later version's, of which nobody knows what
        // they reveal.
        var body = Self.beacon().encoded
        body.append(contentsOf: [0x9A, 0x06, 0x03] + Array("xyz".utf8))
        body.append(contentsOf: [0x3A, 0x06, 0xEA, 0x04, 0x03] + Array("xyz".utf8))
        let filtered = Self.all(.send).filtered(body, kind: .beacon)
        #expect(filtered.range(of: Data("xyz".utf8)) == nil)
        let beacon = try WireBeacon.decode(filtered)
        #expect(beacon.unknownFields.data.isEmpty && beacon.operatingSystem.unknownFields.data.isEmpty)
        #expect(beacon.userEmail == Self.beacon().userEmail)
        #expect(Self.all(.send).filtered(body, kind: .UNRECOGNIZED(99)).isEmpty)
        #expect(Self.all(.send).filtered(body, kind: .unspecified).isEmpty)
    }

    @Test func `A field of another wire type is left out`() throws {
        // ssid (field 2 of the interface) as a varint, and latitude as text.
        let interface: [UInt8] = [0x10, 0x2A, 0x0A, 0x01, 0x77]
        let sample = Data([0x0A, UInt8(interface.count)] + interface)
        #expect(
            try WireWLANSample.decode(Self.all(.send).filtered(sample, kind: .sampleWlan)).interfaces[0].unknownFields
                .data.isEmpty)
        let location: [UInt8] = [0x0A, 0x02, 0x34, 0x38]
        let gps = Data([0x0A, UInt8(location.count)] + location)
        #expect(Self.all(.coarsen).filtered(gps, kind: .sampleGps).range(of: Data("48".utf8)) == nil)
    }

    @Test func `A body cut anywhere reveals nothing personal, and one with a flipped bit no more than it held`() {
        let body = Self.beacon().encoded
        let filter = Self.all(.drop)
        for length in 0..<body.count {
            let left = String(decoding: filter.filtered(body.prefix(length), kind: .beacon), as: UTF8.self)
            #expect(!left.contains("Muster") && !left.contains("annas"))
        }
        var sizes: Set<Int> = []
        for bit in 0..<(body.count * 8) {
            var flipped = body
            flipped[bit / 8] ^= 1 << (bit % 8)
            let left = filter.filtered(flipped, kind: .beacon).count
            if left > body.count { Issue.record("bit \(bit): \(left) bytes of \(body.count)") }
            sizes.insert(left)
        }
        #expect(sizes.contains(0) && sizes.count > 3)
    }

    @Test func `An enrollment gives the device name as the beacon does`() throws {
        var request = WireEnrollRequest()
        request.deviceID = Data(repeating: 1, count: 16)
        request.deviceName = "annas-laptop.example.org"
        request.operatingSystem.name = "linux"
        let filtered = Self.all(.hash).filtered(request)
        let beacon = try Self.filtered(Self.beacon(), .beacon, Self.all(.hash))
        #expect(filtered.deviceName == beacon.deviceName)
        #expect(filtered.deviceID == request.deviceID && filtered.operatingSystem.name == "linux")
        #expect(Self.all(.send).filtered(request) == request)
    }

    private static func event() -> WireEvent {
        WireEvent.with {
            $0.type = .custom
            $0.name = "door.opened"
            $0.value.integer = -12_345
            $0.succeeded = true
            $0.attributes = [
                "who": WireValue.with { $0.text = "Anna Muster" }, "load": WireValue.with { $0.real = 0.0123456 },
                "when": WireValue.with { $0.date = 1_795_000_000_000_000 }, "before": WireValue.with { $0.date = -1 },
                "loud": WireValue.with { $0.boolean = true },
            ]
        }
    }
}

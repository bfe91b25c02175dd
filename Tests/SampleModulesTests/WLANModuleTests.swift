import DeviceTestKit
import FoundationEssentials
import TestKit
import Testing
import WireModel

@testable import SampleModules

@Suite("WLAN2 module on captured machines")
struct WLANModuleTests {
    private static func at(_ seconds: UInt64) -> SampleTime {
        SampleTime(wallMicroseconds: 1_795_003_700_000_000, sinceBootMicroseconds: seconds * 1_000_000)
    }

    private static func module(_ host: CapturedHostSource, _ log: RecordedLog = RecordedLog()) -> WLANModule {
        WLANModule(host: host, logger: log.logger())
    }

    private static func change(_ host: CapturedHostSource, _ body: (inout CapturedNetwork.Radio) -> Void) {
        host.change { machine in
            guard var radio = machine.network?.radios.first else { return }
            body(&radio)
            machine.network?.radios[0] = radio
        }
    }

    private static func link(_ module: inout WLANModule, _ seconds: UInt64) throws -> WireWLANInterface {
        let sample = module.read(at: at(seconds))
        return try #require(sample.interfaces.first)
    }

    @Test
    func `a laptop's link says all the kernel tells of it`() throws {
        var module = Self.module(CapturedMachine.laptop.host())
        let link = try Self.link(&module, 3_700)
        #expect(link.name == "wlan0" && link.ssid == Data("Cafe".utf8) && link.bssid == "a4:2b:b0:01:02:03")
        #expect(link.frequencyMegahertz == 5_180 && link.channel == 36 && link.widthMegahertz == 80)
        #expect(link.signalDecibelMilliwatts == -56 && link.noiseDecibelMilliwatts == -95)
        #expect(link.transmitRateKilobits == 866_700 && link.receiveRateKilobits == 780_000)
        #expect(link.connectedSeconds == 3_600 && link.security == "wpa2/wpa3-personal")
        #expect(!link.hasTransmitRetries && !link.hasTransmitFailures && !link.hasBeaconLosses)
    }

    @Test
    func `a board whose driver names neither network nor noise`() throws {
        var module = Self.module(CapturedMachine.board.host())
        let link = try Self.link(&module, 3_700)
        #expect(link.ssid == Data("Kiosk".utf8), "from the access point's own words")
        #expect(
            link.channel == 6 && link.widthMegahertz == 20 && link.security == "wpa2-personal"
                && !link.hasNoiseDecibelMilliwatts)
    }

    @Test
    func `retries, failures and lost beacons count within one association`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        Self.change(host) {
            $0.station?.retries = 1_210
            $0.station?.failures = 4
            $0.station?.connectedSeconds = 3_601
        }
        let next = try Self.link(&module, 3_701)
        #expect(next.transmitRetries == 10 && next.transmitFailures == 1 && next.beaconLosses == 0)
        Self.change(host) {
            $0.station?.retries = 4
            $0.station?.connectedSeconds = 0
        }
        let joined = try Self.link(&module, 3_702)
        #expect(!joined.hasTransmitRetries && !joined.hasTransmitFailures)
        Self.change(host) {
            $0.station?.address[5] = 9
            $0.station?.retries = 5_000
            $0.networks[1].bssid[5] = 9
        }
        let roamed = try Self.link(&module, 3_703)
        #expect(!roamed.hasTransmitRetries && roamed.bssid == "a4:2b:b0:01:02:09")
    }

    @Test
    func `a 32-bit counter that wraps goes on`() throws {
        let host = CapturedMachine.laptop.host()
        Self.change(host) { $0.station?.retries = .max - 1 }
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        Self.change(host) { $0.station?.retries = 3 }
        let link = try Self.link(&module, 3_701)
        #expect(link.transmitRetries == 5)
    }

    @Test
    func `the scan's results and the survey are asked for rarely, and at once after roaming`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        for second in 0..<60 { _ = module.read(at: Self.at(3_700 + UInt64(second))) }
        #expect(host.exchanges(of: NL80211.scanResults(family: 28, interface: 3)) == 1)
        #expect(host.exchanges(of: NL80211.survey(family: 28, interface: 3)) == 6)
        #expect(host.exchanges(of: GenericNetlink.family(named: "nl80211")) == 1)
        Self.change(host) {
            $0.station?.address[5] = 9
            $0.networks[1].bssid[5] = 9
        }
        _ = module.read(at: Self.at(3_759))
        #expect(host.exchanges(of: NL80211.scanResults(family: 28, interface: 3)) == 2)
    }

    @Test
    func `an interface without a link is sent without one`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        Self.change(host) {
            $0.station = nil
            $0.ssid = []
            $0.frequency = 0
        }
        let link = try Self.link(&module, 3_701)
        var bare = WireWLANInterface()
        bare.name = "wlan0"
        #expect(link == bare)
    }

    @Test
    func `an access point of one's own has no link of its own, whoever is joined to it`() throws {
        let host = CapturedMachine.laptop.host()
        Self.change(host) { $0.type = 3 }
        var module = Self.module(host)
        let link = try Self.link(&module, 3_700)
        #expect(
            link.ssid == Data("Cafe".utf8) && link.channel == 36 && !link.hasBssid && !link.hasSignalDecibelMilliwatts)
    }

    @Test
    func `where the kernel has no nl80211 the older file says what it can`() throws {
        let host = CapturedMachine.laptop.host()
        host.change { $0.network?.wirelessFamily = nil }
        var module = Self.module(host)
        let first = try Self.link(&module, 3_700)
        #expect(first.name == "wlan0" && first.signalDecibelMilliwatts == -56 && first.noiseDecibelMilliwatts == -95)
        #expect(!first.hasTransmitFailures && !first.hasSsid && !first.hasBssid && first.security.isEmpty)
        host.set(WirelessFile.path, " wlan0: 0000   54   200  -256        0      0      0     19      4        2\n")
        let next = try Self.link(&module, 3_701)
        #expect(!next.hasSignalDecibelMilliwatts && !next.hasNoiseDecibelMilliwatts, "no levels, though numbers")
        #expect(next.transmitFailures == 2 && next.beaconLosses == 0)
    }

    @Test
    func `a machine without a radio gives no sample, says so, and is never asked for the family`() {
        let host = CapturedMachine.server.host()
        let log = RecordedLog()
        var module = Self.module(host, log)
        let result = module.sample(at: Self.at(1))
        #expect(result == .none(reason: "this machine has no wireless interface"))
        #expect(host.exchanges(of: GenericNetlink.family(named: "nl80211")) == 0 && log.entries == [])
    }

    @Test
    func `a radio of which the kernel tells nothing is another reason`() {
        let host = CapturedMachine.laptop.host()
        host.change { machine in
            machine.network = nil
            machine.files[WirelessFile.path] = nil
        }
        var module = Self.module(host)
        guard case .none(let reason) = module.sample(at: Self.at(1)) else {
            Issue.record("a sample of nothing")
            return
        }
        #expect(reason.contains("a radio"))
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `garbled answers crash nothing`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let host = CapturedMachine.laptop.host()
        let network = try #require(host.network)
        var module = Self.module(host)
        let requests = [
            GenericNetlink.family(named: "nl80211"), NL80211.interfaces(family: 28),
            NL80211.stations(family: 28, interface: 3),
            NL80211.scanResults(family: 28, interface: 3), NL80211.survey(family: 28, interface: 3),
        ]
        for second in 0..<300 {
            for request in requests where random.next() % 2 == 0 {
                var answer = try #require(network.answer(to: request))
                for _ in 0..<3 {
                    answer[Int(random.next() % UInt64(answer.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                host.change { $0.netlink[request] = answer }
            }
            if case .sample(let sample) = module.sample(at: Self.at(3_700 + UInt64(second) * 31)) {
                _ = try WireWLANSample.decode(sample.body)
            }
        }
    }

    @Test(
        arguments: [
            (2_412, 1), (2_472, 13), (2_484, 14), (5_180, 36), (5_885, 177), (5_935, 2), (5_955, 1), (7_115, 233),
            (58_320, 1),
            (4_940, 188), (2_413, nil), (0, nil), (900, nil), (7_120, nil), (.max, nil),
        ] as [(UInt32, UInt32?)])
    func `channels of all bands`(frequency: UInt32, channel: UInt32?) {
        #expect(WLANChannel.number(ofMegahertz: frequency) == channel)
    }

    @Test(
        arguments: [
            ("", false, "open"), ("", true, "wep"),
            ("30140100000fac040100000fac040100000fac020000", true, "wpa2-personal"),
            ("30140100000fac040100000fac040100000fac010000", true, "wpa2-enterprise"),
            ("30140100000fac040100000fac040100000fac080000", true, "wpa3-personal"),
            ("30180100000fac040100000fac040200000fac02000fac080000", true, "wpa2/wpa3-personal"),
            ("30140100000fac040100000fac040100000fac0c0000", true, "wpa3-enterprise-192"),
            ("30140100000fac040100000fac040100000fac120000", true, "owe"),
            ("dd160050f20101000050f20201000050f20201000050f202", true, "wpa-personal"),
            (
                "30140100000fac040100000fac020100000fac020000dd160050f20101000050f20201000050f20201000050f202", true,
                "wpa/wpa2-personal"
            ),
            ("30140100000fac040100000fac0401000050439900ff", true, nil), ("3002010030", true, nil),
            ("30ff0100", true, nil),
        ] as [(String, Bool, String?)])
    func `how a network is protected`(elements: String, hasPrivacy: Bool, name: String?) {
        let bytes = CapturedNetwork.hexadecimal(elements)
        #expect(bytes.withUnsafeBytes { InformationElements($0).security(hasPrivacy: hasPrivacy) } == name)
    }
}

import Testing
@testable import Transmitter
import WireModel

@Suite struct TransmissionGateTests {
    private func rule(_ data: String = "sample", _ change: (inout WireTransmissionRule) -> Void) -> WireTransmissionRule
    {
        var rule = WireTransmissionRule()
        rule.data = data
        change(&rule)
        return rule
    }

    private func conditions(_ change: (inout DeviceConditions) -> Void = { _ in }) -> DeviceConditions {
        var conditions = DeviceConditions()
        change(&conditions)
        return conditions
    }

    private func decide(_ rule: WireTransmissionRule, _ change: (inout DeviceConditions) -> Void)
        -> TransmissionGate.Decision
    {
        TransmissionGate.decide(data: .sample, rules: [rule], conditions: conditions(change))
    }

    @Test func `Without rules, everything goes over any network, but nothing while offline`() {
        for data in TransmissionGate.DataClass.allCases {
            for network in [WireNetworkClass.unknown, .ethernet, .wifi, .cellular, .loopback, .tunnel, .other] {
                #expect(
                    TransmissionGate.decide(data: data, rules: [], conditions: conditions { $0.network = network })
                        == .open)
            }
            let offline = conditions { $0.network = .offline }
            #expect(TransmissionGate.decide(data: data, rules: [], conditions: offline) == .closed(.offline))
        }
    }

    @Test(arguments: [
        (WireNetworkClass.wifi, true), (.ethernet, true), (.cellular, false), (.unknown, false), (.tunnel, false),
        (.loopback, false),
    ])
    func `Only the networks listed are used, and an unknown one is none of them`(network: WireNetworkClass, opens: Bool)
    {
        let rule = rule { $0.networks = [.wifi, .ethernet, .unknown] }
        #expect(decide(rule) { $0.network = network } == (opens ? .open : .closed(.network(network))))
    }

    @Test(arguments: [
        (WireNetworkClass.wifi, String?.some("Office"), true), (.wifi, "Café", true), (.wifi, "office", false),
        (.wifi, nil, false), (.ethernet, nil, true), (.cellular, nil, true), (.unknown, nil, true),
    ])
    func `Over Wi-Fi, only the networks named are used, and an unknown one is none of them`(
        network: WireNetworkClass, ssid: String?, opens: Bool
    ) {
        let rule = rule { $0.ssids = ["Office", "Café"] }
        let decision = decide(rule) {
            $0.network = network
            $0.ssid = ssid.map { Array($0.utf8) }
        }
        #expect(decision == (opens ? .open : .closed(.ssid(isKnown: ssid != nil))))
    }

    @Test(arguments: [
        (Bool?.some(true), WireNetworkClass.wifi, false), (false, .cellular, true), (nil, .cellular, false),
        (nil, .wifi, true),
        (nil, .unknown, true),
    ])
    func `What must not go while metered treats a cellular network as metered until told otherwise`(
        metered: Bool?, network: WireNetworkClass, opens: Bool
    ) {
        let decision = decide(rule { $0.metered = false }) {
            $0.metered = metered
            $0.network = network
        }
        #expect(decision == (opens ? .open : .closed(.metered)))
        #expect(
            decide(rule { $0.metered = true }) { $0.metered = true } == .open, "a rule that allows it closes nothing")
    }

    @Test(arguments: [
        (Bool?.some(true), WireNetworkClass.cellular, false), (false, .cellular, true), (nil, .cellular, false),
        (nil, .wifi, true),
    ])
    func `What must not go while roaming treats a cellular network as roaming until told otherwise`(
        roaming: Bool?, network: WireNetworkClass, opens: Bool
    ) {
        let decision = decide(rule { $0.roaming = false }) {
            $0.roaming = roaming
            $0.network = network
        }
        #expect(decision == (opens ? .open : .closed(.roaming)))
    }

    @Test(arguments: [
        (UInt32?.some(1_999), Bool?.some(false), false), (2_000, false, true), (1_999, true, false), (nil, nil, true),
        (nil, true, true),
        (nil, false, false),
    ])
    func `Under its battery level nothing goes, and a machine without a battery has no level to be under`(
        level: UInt32?, external: Bool?, opens: Bool
    ) {
        let decision = decide(rule { $0.minimumBattery = 2_000 }) {
            $0.batteryLevel = level
            $0.externalPower = external
        }
        #expect(decision == (opens ? .open : .closed(.battery(level: level, minimum: 2_000))))
    }

    @Test(arguments: [
        (Bool?.some(true), UInt32?.some(5_000), true), (false, 5_000, false), (nil, 5_000, false), (nil, nil, true),
    ])
    func `What needs external power waits for it where there is a battery`(external: Bool?, level: UInt32?, opens: Bool)
    {
        let decision = decide(rule { $0.externalPower = true }) {
            $0.externalPower = external
            $0.batteryLevel = level
        }
        #expect(decision == (opens ? .open : .closed(.power)))
        #expect(decide(rule { $0.externalPower = false }) { $0.externalPower = false } == .open)
    }

    @Test func `A busy machine puts off samples and logs, but not status and events`() {
        let busy = conditions { $0.stalled = true }
        let decisions = TransmissionGate.DataClass.allCases.map {
            TransmissionGate.decide(data: $0, rules: [], conditions: busy)
        }
        #expect(decisions == [.open, .open, .closed(.stalled), .closed(.stalled)])
    }

    @Test func `A rule holds for its class alone, one without a class for all, and all of a class have to agree`() {
        let wifi = conditions {
            $0.network = .wifi
            $0.metered = true
        }
        let rules = [
            rule("sample") { $0.networks = [.wifi] }, rule("sample") { $0.metered = false },
            rule("event") { $0.networks = [.ethernet] },
        ]
        func decide(_ data: TransmissionGate.DataClass, _ rules: [WireTransmissionRule]) -> TransmissionGate.Decision {
            TransmissionGate.decide(data: data, rules: rules, conditions: wifi)
        }
        #expect(decide(.status, rules) == .open)
        #expect(decide(.event, rules) == .closed(.network(.wifi)))
        #expect(decide(.sample, rules) == .closed(.metered))
        #expect(decide(.log, rules) == .open)
        for data in TransmissionGate.DataClass.allCases {
            #expect(decide(data, [rule("") { $0.metered = false }]) == .closed(.metered))
        }
    }

    @Test func `Every reason explains itself to people`() {
        let reasons: [TransmissionGate.Reason] = [
            .offline, .proxy, .paused, .network(.cellular), .ssid(isKnown: true), .ssid(isKnown: false), .metered,
            .roaming,
            .battery(level: 1_234, minimum: 2_000),
            .battery(level: nil, minimum: 2_000), .power, .stalled,
        ]
        #expect(Set(reasons.map(\.description)).count == reasons.count)
        #expect(
            "\(TransmissionGate.Reason.battery(level: 1_234, minimum: 2_000))" == "the battery is at 12 %, under 20 %")
    }
}

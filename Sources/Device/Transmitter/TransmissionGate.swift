import DeviceTunables
import WireModel

/// Decides whether a class of data may go over the network as it is now: the profile's transmission rules against the
/// conditions of the device.
///
/// All rules of a class have to agree; a rule that names no class holds for every one. Where a condition is not known,
/// what costs nothing is assumed only if it is likely: a network of unknown class is none of those a rule lists, and a
/// Wi-Fi network of unknown name is none of those it names; a cellular one is metered, and roams, until something
/// reports otherwise, any other is not; a machine that knows of no battery and no supply runs on mains.
package enum TransmissionGate {
    /// A class of data, as rules name it.
    package enum DataClass: String, CaseIterable, Sendable {
        case status, event, sample, log

        package init(_ stream: StreamName) {
            switch stream {
            case .status: self = .status
            case .event: self = .event
            case .sample: self = .sample
            }
        }

        /// Whether it may be put off while the machine has better things to do.
        fileprivate var canWait: Bool { self == .sample || self == .log }
    }

    package enum Decision: Equatable, Sendable {
        case open
        case closed(Reason)
    }

    package enum Reason: Equatable, Hashable, Sendable, CustomStringConvertible {
        /// There is no way out.
        case offline
        /// The proxy on the way to the collector fails. No rule says so: the last attempt found it.
        case proxy
        /// Switched off by whoever runs the device: telemetry disabled, suspended.
        case paused
        case doNotDisturb
        /// The person has not decided yet, or has denied consent.
        case consent
        /// Logging is disabled. Of logs only.
        case logging
        /// No profile was at hand yet, so that nobody knows whether events may be recorded.
        case firstProfile
        /// The network is none of those allowed.
        case network(WireNetworkClass)
        /// The Wi-Fi network is none of those allowed. Its name reveals where the person is, so it is not repeated
        /// here.
        case ssid(isKnown: Bool)
        case metered
        case roaming
        /// Ten-thousandths; `nil`: there is one, and it does not report its charge.
        case battery(level: UInt32?, minimum: UInt32)
        /// Runs on its battery.
        case power
        /// The machine stalls for processor, memory or disk.
        case stalled

        package var description: String {
            switch self {
            case .offline: "offline: no way out of this machine"
            case .proxy: "the proxy on the way to the collector fails"
            case .paused: "paused"
            case .doNotDisturb: "do-not-disturb is on"
            case .consent: "consent is not given"
            case .logging: "logging is disabled"
            case .firstProfile: "there is no profile yet"
            case .network(let network): "the network is \(network.conditionName), which the profile does not allow"
            case .ssid(isKnown: true): "the Wi-Fi network is none that the profile allows"
            case .ssid(isKnown: false): "the name of the Wi-Fi network is unknown; the profile names those allowed"
            case .metered: "the network is metered"
            case .roaming: "roaming"
            case .battery(let level?, let minimum): "the battery is at \(level / 100) %, under \(minimum / 100) %"
            case .battery(nil, let minimum):
                "the battery level is unknown; the profile requires \(minimum / 100) %"
            case .power: "not on external power"
            case .stalled: "the machine is busy"
            }
        }

        /// Whether it ends by other settings only, so that nobody needs to look again from time to time.
        var endsBySettings: Bool { [.paused, .doNotDisturb, .consent, .logging, .firstProfile].contains(self) }
    }

    static func decide(
        data: DataClass, rules: [WireTransmissionRule], conditions: DeviceConditions
    ) -> Decision {
        if conditions.network == .offline { return .closed(.offline) }
        for rule in rules where rule.data.isEmpty || rule.data == data.rawValue {
            if let reason = refusal(rule, conditions) { return .closed(reason) }
        }
        return data.canWait && conditions.stalled == true ? .closed(.stalled) : .open
    }

    private static func refusal(_ rule: WireTransmissionRule, _ conditions: DeviceConditions) -> Reason? {
        let isCellular = conditions.network == .cellular
        if !rule.networks.isEmpty, !rule.networks.contains(conditions.network) || conditions.network == .unknown {
            return .network(conditions.network)
        }
        if !rule.ssids.isEmpty, conditions.network == .wifi,
            !rule.ssids.contains(where: { conditions.ssid?.elementsEqual($0.utf8) == true })
        {
            return .ssid(isKnown: conditions.ssid != nil)
        }
        if rule.hasMetered, !rule.metered, conditions.metered ?? isCellular { return .metered }
        if rule.hasRoaming, !rule.roaming, conditions.roaming ?? isCellular { return .roaming }
        if rule.hasMinimumBattery, let reason = batteryRefusal(minimum: rule.minimumBattery, conditions) {
            return reason
        }
        if rule.hasExternalPower, rule.externalPower, !(conditions.externalPower ?? (conditions.batteryLevel == nil)) {
            return .power
        }
        return nil
    }

    /// A machine without a battery has no level to be under; one that runs on a battery and does not know its level is
    /// not trusted with it.
    private static func batteryRefusal(minimum: UInt32, _ conditions: DeviceConditions) -> Reason? {
        guard let level = conditions.batteryLevel else {
            return conditions.externalPower == false && minimum > 0 ? .battery(level: nil, minimum: minimum) : nil
        }
        return level < minimum ? .battery(level: level, minimum: minimum) : nil
    }
}

extension WireNetworkClass {
    /// The condition as people read it.
    fileprivate var conditionName: String {
        switch self {
        case .offline: "offline"
        case .ethernet: "ethernet"
        case .wifi: "wifi"
        case .cellular: "cellular"
        case .loopback: "loopback"
        case .tunnel: "tunnel"
        case .other: "other"
        case .unknown, .UNRECOGNIZED: "unknown"
        }
    }
}

/// Decides over time which data may be sent: by what the settings hold back, by the gate's decisions, and so that a
/// wrong condition does not close it for ever.
///
/// *Offline* is believed once an attempt has confirmed it, and is checked again from time to time: a collector on this
/// machine, or behind a route that the conditions do not know, can be reached all the same. A stalled machine delays
/// samples and logs, but not without end. Times are microseconds since boot.
struct GatePolicy: Sendable {
    struct Decision: Equatable, Sendable {
        var open: Set<StreamName>
        var closed: [StreamName: TransmissionGate.Reason]
        /// Streams are open for an attempt that tests whether the device is offline, as the conditions say.
        var isTrial = false

        /// Whether conditions may open what is closed. Other settings are reported when they come.
        var isLookedAtAgain: Bool { closed.values.contains { !$0.endsBySettings } }
    }

    /// The findings of attempts while the conditions say that there is no way out.
    private enum Offline {
        /// None was made.
        case untested
        case confirmed(at: UInt64)
        /// Somebody answered.
        case disproved
    }

    private var offline = Offline.untested
    private var stalledSince: UInt64?

    mutating func decide(
        rules: [WireTransmissionRule], held: [StreamName: TransmissionGate.Reason], conditions: DeviceConditions,
        now: UInt64
    ) -> Decision {
        let believed = believe(conditions, now: now)
        var decision = Decision(open: [], closed: [:])
        if conditions.network == .offline, believed.network != .offline {
            if case .disproved = offline {} else { decision.isTrial = true }
        }
        for stream in StreamName.allCases {
            if let reason = held[stream] {
                decision.closed[stream] = reason
                continue
            }
            switch TransmissionGate.decide(data: .init(stream), rules: rules, conditions: believed) {
            case .open: decision.open.insert(stream)
            case .closed(let reason): decision.closed[stream] = reason
            }
        }
        return decision
    }

    /// Whether logs may be uploaded.
    mutating func decideLogs(
        rules: [WireTransmissionRule], held: TransmissionGate.Reason?, conditions: DeviceConditions, now: UInt64
    ) -> TransmissionGate.Decision {
        held.map { .closed($0) }
            ?? TransmissionGate.decide(data: .log, rules: rules, conditions: believe(conditions, now: now))
    }

    /// An attempt was made under these conditions, and somebody answered, or nobody did.
    mutating func attempted(_ conditions: DeviceConditions, reached: Bool, now: UInt64) {
        guard conditions.network == .offline else { return }
        offline = reached ? .disproved : .confirmed(at: now)
    }

    private mutating func believe(_ conditions: DeviceConditions, now: UInt64) -> DeviceConditions {
        var believed = conditions
        // Of no class that a rule could allow, but not refused for being none at all.
        if conditions.network != .offline {
            offline = .untested
        } else if case .confirmed(let time) = offline, now < time &+ Tunables.Transmission.offlineLookMicroseconds {
        } else {
            believed.network = .unknown
        }
        stalledSince = conditions.stalled == true ? stalledSince ?? now : nil
        if let stalledSince, now >= stalledSince &+ Tunables.Transmission.greatestStallMicroseconds {
            believed.stalled = nil
        }
        return believed
    }
}

/// Nothing is known of the device: no rule about an unknown condition closes a gate.
package struct UnknownConditions: ConditionsSource {
    package init() {}

    package func current() -> DeviceConditions { DeviceConditions() }
}

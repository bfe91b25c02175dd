import RecordQueue
import WireModel

/// What uploads of logs need of the transmitter: its credential, its turn, its gates.
extension Transmitter {
    /// Whether logs may go over the network as it is now. Looks at the network.
    package func logGate() -> TransmissionGate.Decision {
        let rules = settings.rules + (settings.logsOverWiFiOnly ? [WireTransmissionRule.logsOverWiFiOnly] : [])
        return gate.decideLogs(
            rules: rules, isPaused: settings.areLogsPaused, conditions: lookAtConditions(), now: clock.now().timeSinceBoot)
    }
}

extension WireTransmissionRule {
    /// "Send logs over Wi-Fi only" (ws1): Wi-Fi or wired.
    static var logsOverWiFiOnly: Self {
        var rule = WireTransmissionRule()
        rule.data = TransmissionGate.DataClass.log.rawValue
        rule.networks = [.ethernet, .wifi]
        return rule
    }
}

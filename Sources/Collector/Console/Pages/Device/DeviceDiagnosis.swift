import CollectorAPI
import JSON
import TelemetryBasics

/// Says in words what a device's newest beacon, its schedule and its profile show: why it is silent, and why data waits
/// on it. Pure.
///
/// It states what is known and by what. A device that vanished without a word gets the possible reasons, not a guess;
/// the timeline names the reason once the device is back.
struct DeviceDiagnosis {
    let device: DeviceView
    /// The newest decision on do-not-disturb.
    let doNotDisturb: DoNotDisturbView
    /// The document of the profile that the device gets; null if it gets none.
    let profile: JSONValue
    /// Microseconds since 1970.
    let now: Int64

    private var beacon: JSONValue { device.beacon ?? .null }

    // MARK: Contact

    /// Why it does or does not report.
    var contact: [String] {
        switch device.state {
        case "revoked":
            [
                "An administrator revoked it\(at(device.revokedAt)). The collector refuses its credential, and "
                    + "what it produces stays on it until it is reinstated."
            ]
        case "left":
            ["It left\(at(device.leftAt)): its enrollment has ended. It sends nothing until it enrolls again."]
        case "enrolled":
            [
                device.lastSeenAt == nil
                    ? "It has sent nothing since it enrolled."
                    : "It has no schedule of beacons, so nobody can say whether one is missing."
            ]
        case "otlp":
            [
                "It is a resource of OTLP: a program sends its logs and metrics. It has no agent, did not enroll, and "
                    + "nobody expects beacons of it. It takes neither profiles nor commands. It disappears from the "
                    + "lists when its last record has been removed."
            ]
        case "off":
            [
                "Telemetry is switched off, by the profile or on the device, so it sends no beacons. It looks for its "
                    + "profile and for commands every 15 minutes."
            ]
        case "late", "silent": absence
        default:
            [interval.map { "It reports as its schedule says, every \(DisplayText.duration($0))." } ?? "It reports."]
        }
    }

    private var absence: [String] {
        var lines: [String] = []
        if let interval, let since = ago(device.lastBeaconAt ?? device.enrolledAt) {
            let missing = DisplayText.count((since / interval).rounded(.down))
            lines.append("Beacons are due every \(DisplayText.duration(interval)). Missing: \(missing).")
        }
        lines.append(lastWords)
        if let beacon = time(device.lastBeaconAt), let seen = time(device.lastSeenAt), let interval,
            Double(seen - beacon) / 1_000_000 > 2 * interval
        {
            lines.append(
                "It was in contact after its last beacon. Network and agent worked then; only beacons were missing.")
        }
        lines.append(
            "On the machine, `systemctl status ws1agent` and `ws1agent status` tell whether it runs and sends.")
        return lines
    }

    private var lastWords: String {
        guard beacon != .null else { return "It has not sent a beacon yet." }
        let power = beacon["power"]
        if beacon["trigger"].text == "stop" {
            return "Its last beacon says that the agent ended in order: the service was stopped, or the machine was."
        }
        if beacon["network"].text == "offline" { return "Its last beacon says that it had no network." }
        if let level = power["batteryLevel"].number, level <= 1000, power["externalPower"] != .boolean(true) {
            return "Its last beacon says that its battery was at \(DisplayText.percent(level / 10_000))."
        }
        return
            "It vanished without a word: the machine is off or without network, or the agent was killed. "
            + "Its first beacons afterwards will tell which; the timeline shows it then."
    }

    // MARK: Held data

    /// Why records wait on it; empty if none does, as far as it reported.
    var held: [String] {
        guard beacon != .null else { return [] }
        var lines = waiting
        if beacon["telemetryDisabled"].isTrue {
            lines.append("Telemetry is switched off, by the profile or on the device: nothing new is recorded.")
        }
        if beacon["encryption"]["locked"].isTrue {
            let provider = beacon["encryption"]["provider"].text.map { " (\($0))" } ?? ""
            lines.append(
                "Its data is locked: the passcode or the device key\(provider) is not at hand, so nothing is sent.")
        }
        switch beacon["consent"].text {
        case "pending": lines.append("The person has not decided about consent yet: events and samples wait.")
        case "denied": lines.append("The person denied consent: events and samples are dropped, and counted so.")
        default: break
        }
        lines += quiet
        for (data, name) in [("status", "Beacons"), ("event", "Events"), ("sample", "Samples"), ("log", "Logs")] {
            if let reason = closed(for: data) { lines.append("\(name) wait: \(reason).") }
        }
        if profile["logging"]["wifiOnly"].isTrue, let network, !["wifi", "ethernet", "unknown"].contains(network) {
            lines.append("Logs wait: the profile sends them only over Wi-Fi or a wired network; this is \(network).")
        }
        if let hold = profile["analytics"]["holdSeconds"].number, hold > 0, hasWaiting("event") {
            lines.append("The profile holds events for up to \(DisplayText.duration(hold)) before they are sent.")
        }
        if let factor = beacon["slowdown"]["factor"].number {
            let budget = DisplayText.words(beacon["slowdown"]["budget"].text ?? "")
            lines.append(
                "It slows itself down to keep its budget of \(budget): "
                    + "intervals are \(DisplayText.number(factor / 100)) times as long.")
        }
        return lines
    }

    private var waiting: [String] {
        beacon["queue"].items.compactMap { stream in
            guard stream["waiting"].number ?? 0 > 0 else { return nil }
            let age = stream["oldestAgeSeconds"].number.map { ", the oldest for \(DisplayText.duration($0))" } ?? ""
            let bytes = stream["waitingBytes"].number.map { " (\(DisplayText.bytes($0)))" } ?? ""
            let name = stream["stream"].text ?? ""
            return
                """
                \(DisplayText.counted(stream["waiting"], "record")) of the stream \(name) waited at its last \
                beacon\(bytes)\(age).
                """
        }
    }

    private func hasWaiting(_ name: String) -> Bool {
        beacon["queue"].items.contains { $0["stream"].text == name && ($0["waiting"].number ?? 0) > 0 }
    }

    private var quiet: [String] {
        let isOn = doNotDisturb.on && doNotDisturb.allowed
        var lines: [String] = []
        if isOn || doNotDisturb.reported == true {
            let who = doNotDisturb.person.map { ", set by \($0)" } ?? ""
            let since = isOn ? "\(at(doNotDisturb.setAt, "since"))\(who)" : ""
            lines.append("Do-not-disturb is on\(since): samples, events and logs pause, beacons go on.")
        }
        if let reported = doNotDisturb.reported, reported != isOn {
            lines.append("It has not told yet that it follows the newest decision on do-not-disturb.")
        }
        return lines
    }

    private var network: String? { beacon == .null ? nil : beacon["network"].text ?? "unknown" }

    /// The objections of the profile's rules of transmission to the conditions that the device reported. The device
    /// decides it in the same way (`TransmissionGate`); beacons lack only the names of Wi-Fi networks.
    private func closed(for data: String) -> String? {
        for rule in profile["transmission"].items where [nil, "", data].contains(rule["data"].text) {
            if let reason = refusal(rule) { return reason }
        }
        return nil
    }

    private func refusal(_ rule: JSONValue) -> String? {
        guard let network else { return nil }
        let isCellular = network == "cellular"
        let networks = rule["networks"].items.compactMap(\.text)
        if !networks.isEmpty, !networks.contains(network) || network == "unknown" {
            return "the profile sends them only over \(networks.joined(separator: ", ")); the network is \(network)"
        }
        if rule["metered"] == .boolean(false), beacon["metered"].truth ?? isCellular {
            return "the profile does not send them over metered networks, and this one is"
        }
        if rule["roaming"] == .boolean(false), beacon["roaming"].truth ?? isCellular {
            return "the profile does not send them while roaming, and it roams"
        }
        let (level, hasPower) = (beacon["power"]["batteryLevel"].number, beacon["power"]["externalPower"].truth)
        if let minimum = rule["minimumBattery"].number, minimum > 0,
            level ?? (hasPower == false ? 0 : minimum) < minimum
        {
            let reported = level.map { "it has \(DisplayText.percent($0 / 10_000))" } ?? "it does not tell its level"
            return "the profile wants \(DisplayText.percent(minimum / 10_000)) of battery; \(reported)"
        }
        if rule["externalPower"].isTrue, !(hasPower ?? (level == nil)) {
            return "the profile wants external power, and it runs on its battery"
        }
        return nil
    }

    // MARK: -

    private var interval: Double? { device.expectedBeaconSeconds.flatMap { $0 > 0 ? Double($0) : nil } }

    private func time(_ text: String?) -> Int64? { text.flatMap { Timestamp.parse($0) } }

    /// Seconds.
    private func ago(_ text: String?) -> Double? { time(text).map { Double(now - $0) / 1_000_000 } }

    private func at(_ time: String?, _ word: String = "at") -> String {
        time.map { " \(word) \(DisplayText.time($0))" } ?? ""
    }
}

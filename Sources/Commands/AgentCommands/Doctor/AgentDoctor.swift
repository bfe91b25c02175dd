import CommandKit
import DataSampler
import FoundationEssentials
import Transmitter
import WireModel

/// Judges what was found about an agent, link by link. Pure.
///
///     clock ─► configuration ─► dns ─► proxy ─► tcp ─► tls ─► pin ─► collector ─► token ─► credential
///                                                                                              │
///     acknowledged ◄─ agent ◄─ location ◄─ encryption ◄─ permissions ◄─ disk ◄─ gates ◄─ profile
///
/// On the way to the collector everything behind a broken link is not reached. The links of this device are judged
/// whatever the way is like.
struct AgentDoctor {
    /// In the order of the walk. Raw values are the names in the output, which stay.
    enum Link: String, CaseIterable {
        case clock, configuration
        case dns, proxy, tcp, tls, pin, collector, token, credential
        case profile, gates, disk, permissions, encryption, location, agent, acknowledged
    }

    let facts: AgentFacts

    init(_ facts: AgentFacts) { self.facts = facts }

    var report: DoctorReport { DoctorReport(Link.allCases.map(check)) }

    func check(_ link: Link) -> DoctorCheck {
        switch link {
        case .clock:
            ClockFacts.check(
                link.rawValue, now: facts.now, programBuilt: facts.programBuilt,
                offsetSeconds: facts.probe?.clockOffsetSeconds
                    ?? sampler?.collector.clockOffset.map { Double($0) / 1_000_000 },
                other: "the collector")
        case .configuration: configuration
        case .dns: network(.dns, link)
        case .proxy: network(.proxy, link)
        case .tcp: network(.tcp, link)
        case .tls: network(.tls, link)
        case .pin: network(.pin, link)
        case .collector: network(.collector, link)
        case .token: token
        case .credential: credential
        case .profile: profile
        case .gates: gates
        case .disk: disk
        case .permissions: permissions
        case .encryption: encryption
        case .location: location
        case .agent: agent
        case .acknowledged: acknowledged
        }
    }

    // MARK: Words

    var sampler: DataSamplerStatus? { facts.status?.sampler }
    var isRunning: Bool { sampler?.running == true }

    /// A command of this program that meets the same agent.
    func command(_ words: String) -> String {
        facts.directory == StandardDirectory.agent
            ? "ws1agent \(words)" : "ws1agent \(words) --data \(facts.directory)"
    }

    /// What starts the agent with other settings.
    var restart: String {
        facts.directory == StandardDirectory.agent ? "systemctl restart ws1agent" : "restart the agent"
    }

    var start: String {
        facts.directory == StandardDirectory.agent ? "systemctl start ws1agent" : command("run")
    }

    private var file: String { facts.configurationFile ?? "the agent's settings" }

    // MARK: The way to the collector

    private var configuration: DoctorCheck {
        let name = Link.configuration.rawValue
        guard let fault = facts.configurationFault else {
            return .ok(name, "\(facts.collectorURL ?? "no collector"), from \(file)")
        }
        // This user may not read what the agent reads, and the agent runs.
        if isRunning {
            return .warning(
                name, "the agent runs; with what this command was given it would not start: \(fault)",
                remedy: "give this command the agent's settings: sudo \(command("doctor")) --config FILE")
        }
        return .broken(name, fault, remedy: "correct \(file) until `\(command("validate"))` is content, then \(start)")
    }

    private func network(_ part: CollectorProbe.Link, _ link: Link) -> DoctorCheck {
        let name = link.rawValue
        guard let probe = facts.probe else { return .notReached(name, "configuration is broken") }
        switch probe.findings[part] {
        case .ok(let found)?: return .ok(name, found)
        case .broken(let found)?:
            // The agent may have other settings, or another environment, than this command. That the collector answers
            // says nothing about what it accepts.
            if isRunning, sampler?.collector.reachable == true, ![.collector, .token, .credential].contains(part) {
                return .warning(
                    name, "\(found). The running agent does reach the collector",
                    remedy: "give this command the agent's settings: \(command("doctor")) --config FILE")
            }
            return .broken(name, found, remedy: remedy(part, probe))
        case nil: return unreached(link, probe)
        }
    }

    /// A link that the walk did not come to: behind a broken one, or behind a broker.
    private func unreached(_ link: Link, _ probe: CollectorProbe) -> DoctorCheck {
        if let broken = probe.broken { return .notReached(link.rawValue, "\(broken.rawValue) is broken") }
        guard probe.isBroker else {
            return .notReached(link.rawValue, facts.files?.identityObstacle ?? "it was not asked for")
        }
        guard isRunning, let collector = sampler?.collector, let reachable = collector.reachable else {
            return .notReached(link.rawValue, "only a running agent speaks through the message broker")
        }
        if reachable { return .ok(link.rawValue, "the running agent reaches the collector through \(probe.peer)") }
        guard link == .collector else {
            return .notReached(link.rawValue, "only a running agent speaks through the message broker")
        }
        return .broken(
            link.rawValue, collector.lastFailureReason ?? collector.reason ?? "not reachable through \(probe.peer)",
            remedy: "journalctl -u ws1collector, at the collector, and the broker's log, say why")
    }

    private func remedy(_ link: CollectorProbe.Link, _ probe: CollectorProbe) -> String {
        switch link {
        case .dns:
            "correct collector or proxy in \(file), or this machine's resolver (`resolvectl status`), then \(restart)"
        case .proxy: "correct proxy in \(file), or the proxy that the environment names, then \(restart)"
        case .tcp:
            """
            start the collector (`systemctl start ws1collector` there), open the way to \(probe.peer), or correct \
            collector in \(file)
            """
        case .tls:
            """
            put the issuer's certificate into ca in \(file), then \(restart); `ws1collector validate` at \
            the collector examines its certificate
            """
        case .pin:
            """
            put the collector's key (`ws1collector validate` shows its pin) into certificatePins of the profile; \
            before the enrollment, make another file: ws1collector enrollment-file
            """
        case .collector: "journalctl -u ws1collector, at the collector; or correct collector in \(file)"
        case .token: "ws1collector token create --enrollment, at the collector; give it to the agent, then \(restart)"
        case .credential:
            """
            \(command("unenroll")); then enroll with a token of `ws1collector token create --enrollment`, if the \
            collector's people agree
            """
        }
    }

    private var token: DoctorCheck {
        let name = Link.token.rawValue
        if facts.probe?.findings[.token] != nil || facts.files?.isEnrolled == true { return network(.token, .token) }
        if sampler?.enrollment.enrolled == true { return .ok(name, "not needed: the device is enrolled") }
        if let probe = facts.probe, let broken = probe.broken {
            return .notReached(name, "\(broken.rawValue) is broken")
        }
        if let obstacle = facts.files?.identityObstacle { return .notReached(name, obstacle) }
        guard facts.probe != nil else { return .notReached(name, "configuration is broken") }
        return .broken(
            name, "the device is not enrolled: \(sampler?.enrollment.reason ?? "no enrollment token is given")",
            remedy: Transmitter.tokenRemedy)
    }

    private var credential: DoctorCheck {
        let name = Link.credential.rawValue
        if facts.probe?.findings[.credential] != nil { return network(.credential, .credential) }
        if let broken = facts.probe?.broken { return .notReached(name, "\(broken.rawValue) is broken") }
        guard let sampler else {
            return .notReached(name, facts.files?.identityObstacle ?? "the device is not enrolled")
        }
        guard sampler.enrollment.enrolled else { return .notReached(name, "the device is not enrolled") }
        // Who may not read the credential gets the running agent's word.
        guard sampler.running else {
            return .notReached(name, facts.files?.identityObstacle ?? "it was not asked for")
        }
        let refusal = sampler.collector.state == "holding" ? sampler.collector.reason : nil
        if let refusal, let probe = facts.probe {
            return .broken(name, refusal, remedy: remedy(.credential, probe))
        }
        return .ok(name, "device \(sampler.enrollment.device ?? "?"), says the running agent")
    }
}

import CommandKit
import DataSampler
import FoundationEssentials
import TelemetryBasics
import Transmitter
import WireModel

/// The links of this device.
extension AgentDoctor {
    /// Less is soon used up by the queue and the logs of an outage.
    private static let lowBytes: UInt64 = 64 << 20

    private func unknown(_ link: Link) -> DoctorCheck {
        let why = facts.statusFault ?? "unknown"
        return .notReached(
            link.rawValue, facts.denial == nil ? "there is no status: \(why)" : "permissions is broken")
    }

    var profile: DoctorCheck {
        let name = Link.profile.rawValue
        guard let sampler else { return unknown(.profile) }
        let profile = sampler.profile
        let reload = command("profile --reload")
        guard profile.revision > 0 else {
            guard sampler.enrollment.enrolled else { return .notReached(name, "the device is not enrolled") }
            return .broken(
                name, "there is none yet, so events wait\(profile.failure.map { ": \($0)" } ?? "")", remedy: reload)
        }
        let revision = "revision \(profile.revision)"
        if let refusal = profile.refusal {
            return .warning(
                name, "\(revision); a newer one was refused: \(refusal)",
                remedy: "correct the profile at the collector, then \(reload)")
        }
        if let failure = profile.failure {
            return .warning(name, "\(revision); not fetched anew: \(failure)", remedy: reload)
        }
        guard let finding = profile.findings?.first else { return .ok(name, revision) }
        return .warning(name, "\(revision): \(finding)", remedy: "correct the profile at the collector, then \(reload)")
    }

    var gates: DoctorCheck {
        let name = Link.gates.rawValue
        guard let sampler else { return unknown(.gates) }
        if let wipe = sampler.wipePending {
            return .broken(name, "a wipe is under way: \(wipe)", remedy: "\(start); it ends by itself")
        }
        if sampler.leaving {
            return .broken(name, "this device is being unenrolled", remedy: "\(start); it ends by itself")
        }
        if sampler.telemetryDisabled {
            let source = sampler.settings["telemetryDisabled"]?.source ?? "profile"
            return .broken(
                name, "telemetry is switched off by the \(source)",
                remedy:
                    "set telemetryDisabled to false there; \(command("profile")) shows where each setting comes from")
        }
        if sampler.consent != "granted" {
            return .broken(name, "consent is \(sampler.consent)", remedy: command("consent granted"))
        }
        if sampler.doNotDisturb || (!sampler.running && facts.files?.isDoNotDisturb == true) {
            return .broken(
                name, "do-not-disturb is on: samples, events and logs pause", remedy: command("dnd off"))
        }
        if sampler.suspended {
            return .broken(name, "the application has suspended it", remedy: "resume it in the application")
        }
        if let (stream, why) = sampler.collector.gates.min(by: { $0.key < $1.key }) {
            let streams = sampler.collector.gates.keys.sorted().joined(separator: ", ")
            // The machine is busy: it passes.
            let isBrief = why == TransmissionGate.Reason.stalled.description
            let found = "\(streams) may not be sent now: \(sampler.collector.gates[stream] ?? why)"
            return isBrief
                ? .warning(name, found, remedy: "wait until the machine is less busy")
                : .broken(
                    name, found,
                    remedy: "change the network or the power, or `transmission` in the profile; it opens by itself")
        }
        return .ok(name, sampler.running ? "all are open" : "consent is granted and nothing is switched off")
    }

    var disk: DoctorCheck {
        let name = Link.disk.rawValue
        if let failure = sampler?.queueFailure {
            return .broken(
                name, "the queue's last write failed: \(failure)",
                remedy: "make room: df -h \(facts.directory); then \(command("status")) says whether it goes on")
        }
        return facts.place.room(name, lowBytes: Self.lowBytes)
    }

    var permissions: DoctorCheck {
        let name = Link.permissions.rawValue
        if let denial = facts.denial {
            return .broken(
                name, "\(denial)",
                remedy: """
                    \(denial.remedy); or let a group ask the agent with accessGroup in its configuration, and \
                    \(restart)
                    """)
        }
        if !isRunning, let fault = facts.directoryFault {
            return .broken(name, fault, remedy: "correct data in the agent's settings, or the directory, then \(start)")
        }
        if let wrong = facts.place.ownership(name) { return wrong }
        return .ok(
            name, facts.group.map { "members of group \($0) may ask the agent" } ?? "only the agent's user may enter")
    }

    var encryption: DoctorCheck {
        let name = Link.encryption.rawValue
        guard let sampler else { return unknown(.encryption) }
        guard let encryption = sampler.encryption, encryption.isOn || encryption.isLocked else {
            return .ok(name, "off")
        }
        guard encryption.isLocked else {
            return .ok(name, "on, the device key is of \(encryption.provider ?? "nobody")")
        }
        let remedy =
            encryption.provider == "passcode"
            ? command("passcode")
            : "restore the device key from its copy, or give up what it protects: \(command("give-up-sealed"))"
        return .broken(name, "locked: \(encryption.reason ?? "the keys are not at hand")", remedy: remedy)
    }

    var location: DoctorCheck {
        let name = Link.location.rawValue
        guard sampler != nil || facts.files?.isLocationWanted == true else { return unknown(.location) }
        guard facts.files?.isLocationWanted == true || sampler?.location?.isWanted == true else {
            return .ok(name, "nobody wants it")
        }
        if let obstacle = facts.gpsdObstacle {
            return .broken(name, obstacle, remedy: "systemctl enable --now gpsd.socket; or correct gpsd and \(restart)")
        }
        if let location = sampler?.location, location.hasFix == false {
            return .warning(
                name, "not known: \(location.reason ?? "no reason given")",
                remedy: "cgps -s shows what the receiver sees")
        }
        return .ok(name, "gpsd answers")
    }

    var agent: DoctorCheck {
        let name = Link.agent.rawValue
        guard let sampler else { return facts.denial == nil ? notStarted(name) : unknown(.agent) }
        guard sampler.running else {
            return .broken(name, "no agent runs in \(facts.directory)", remedy: start)
        }
        return .ok(name, "runs, version \(sampler.version)")
    }

    private func notStarted(_ name: String) -> DoctorCheck {
        .broken(name, facts.statusFault ?? "no agent has run in \(facts.directory)", remedy: start)
    }

    var acknowledged: DoctorCheck {
        let name = Link.acknowledged.rawValue
        guard let sampler else { return unknown(.acknowledged) }
        let streams = sampler.streams.map { "\($0.name) \($0.acknowledged) of \($0.lastNumber)" }
            .joined(separator: ", ")
        let newest = sampler.collector.lastSuccess.map { time in
            "; the newest \(DurationText.of(seconds: Double(facts.now - time) / 1_000_000)) ago"
        }
        let found = streams + (newest ?? "")
        if let divergence = sampler.divergence {
            return .broken(
                name, "\(found); the histories have diverged in \(divergence.stream): \(divergence.reason)",
                remedy: "\(start), which settles it; \(command("balance")) shows what became of the records")
        }
        let waiting = sampler.streams.reduce(0) { $0 + $1.waiting }
        if sampler.running, sampler.streams.contains(where: { $0.due > 0 }),
            ["backing-off", "holding"].contains(sampler.collector.state)
        {
            return .broken(
                name,
                """
                \(found); \(waiting) wait: \
                \(sampler.collector.reason ?? sampler.collector.lastFailureReason ?? "unknown")
                """,
                remedy:
                    "journalctl -u ws1collector, at the collector, says why; then \(command("beacon")) sends at once")
        }
        if sampler.quarantined > 0 {
            return .warning(
                name, "\(found); \(sampler.quarantined) quarantined, because they alone were refused",
                remedy: command("queue inspect"))
        }
        guard sampler.streams.contains(where: { $0.acknowledged > 0 }) else {
            return .warning(name, "none yet; \(waiting) wait", remedy: command("beacon"))
        }
        return .ok(name, found)
    }
}

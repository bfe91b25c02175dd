import CommandKit
import DataSampler
import FoundationEssentials
import TelemetryBasics
import WireModel

/// Describes an agent's status in words.
struct StatusText {
    let text: String

    init(_ agent: AgentStatus, now: Date) {
        let status = agent.sampler
        var lines: [String] = []
        func line(_ title: String, _ words: String) {
            // A name from a profile or of a process must not look like a line of its own.
            let words = words.split(whereSeparator: \.isNewline).joined(separator: "\\n")
            lines.append(title + String(repeating: " ", count: max(1, 13 - title.count)) + words)
        }
        func moment(_ time: Int64?) -> String {
            guard let time else { return "never" }
            let date = Date(timeIntervalSince1970: Double(time) / 1_000_000)
            let seconds = now.timeIntervalSince(date)
            let distance =
                seconds >= 0 ? "\(DurationText.of(seconds: seconds)) ago" : "in \(DurationText.of(seconds: -seconds))"
            return "\(date.ISO8601Format()) (\(distance))"
        }

        line("agent", status.running ? "runs, version \(status.version)" : "does not run; this is what is on disk")
        line("data", "\(status.directory), epoch \(status.epoch)")
        let enrollment = status.enrollment
        line(
            "enrollment",
            enrollment.enrolled
                ? "device \(enrollment.device ?? "?") of organization \(enrollment.organization ?? "?")"
                : "not enrolled: \(enrollment.reason ?? "unknown")")
        if let ends = enrollment.certificateEnds { line("certificate", "ends \(moment(ends))") }
        if let problem = enrollment.certificateProblem { line("certificate", problem) }
        if let encryption = status.encryption { line("encryption", Self.encryption(encryption)) }
        line("profile", Self.profile(status.profile))
        for finding in status.profile.findings ?? [] { line("finding", finding) }
        if let verdicts = status.verdicts { Self.describe(verdicts, line) }
        for fence in status.geofences ?? [] {
            let name = fence.name.map { "\(fence.id) (\($0))" } ?? fence.id
            let since = fence.since.map { " since \(moment($0))" } ?? ""
            let doubt = fence.isConfirmed || fence.state == "unknown" ? "" : ", not confirmed by a position yet"
            line("geofence", "\(name): \(fence.state)\(since)\(doubt)")
        }
        if status.telemetryDisabled {
            line("telemetry", "disabled: nothing is sampled or recorded, and only commands are answered")
        }
        if status.consent != "granted" { line("consent", status.consent) }
        if let decision = status.doNotDisturbDecision, decision.isOn || !decision.isReported {
            line("do-not-disturb", Self.words(decision))
        } else if status.doNotDisturb {
            line("do-not-disturb", "on")
        }
        if status.slowdown > 1 {
            line("slowdown", "\(Self.hundredths(status.slowdown)) times: \(status.slowdownReason ?? "a budget")")
        }
        if let wipe = status.wipePending { line("wipe", "pending: \(wipe)") }
        if status.running {
            let collector = status.collector
            let reachable =
                switch collector.reachable {
                case true?: "reachable"
                case false?: "not reachable: \(collector.reason ?? collector.lastFailureReason ?? "unknown")"
                case nil: "not asked yet"
                }
            line("collector", "\(collector.url ?? "unknown"), \(reachable)")
            line("sending", collector.state + (collector.reason.map { ": \($0)" } ?? ""))
            if let seconds = status.offlineTimeExceeded {
                line(
                    "offline",
                    """
                    the collector is out of reach for \(DurationText.of(seconds: Double(seconds))), longer than allowed
                    """
                )
            }
            line("last success", moment(collector.lastSuccess))
            if let failure = collector.lastFailure {
                line("last failure", "\(moment(failure)): \(collector.lastFailureReason ?? "unknown")")
            }
            line("next", moment(collector.nextAttempt))
            if status.modules.isEmpty { line("module", "none") }
            for module in status.modules {
                let yield =
                    module.reason.map { "none: \($0)" }
                    ?? "\(CountText.of(module.samples, "sample")), last \(moment(module.lastSample))"
                line("module", "\(module.name) every \(DurationText.of(seconds: module.sampleInterval)): \(yield)")
            }
            for (module, reason) in status.unavailableModules.sorted(by: { $0.key < $1.key }) {
                line("module", "\(module) is off: \(reason)")
            }
            for intake in status.intakes ?? [] {
                line("intake", Self.intake(intake, moment))
                for problem in intake.problems { line("intake", "\(intake.application): \(problem)") }
            }
            for source in status.metricSources ?? [] { line("metrics", Self.metrics(source)) }
            if let location = status.location { line("location", Self.location(location)) }
            if let logind = status.logind { line("logind", Self.logind(logind)) }
            if let hook = agent.noticeHook {
                line(
                    "notice hook",
                    "\(hook.program): \(hook.succeeded) done, \(hook.failed) failed, \(hook.dropped) dropped"
                        + (hook.lastFailure.map { "; last failure: \($0)" } ?? ""))
            }
            line("beacon", status.beaconInterval.map { "every \(DurationText.of(seconds: $0))" } ?? "no schedule")
        }
        for stream in status.streams {
            let oldest = stream.oldestAgeSeconds.map { ", the oldest \(DurationText.of(seconds: $0)) old" } ?? ""
            let due = status.running ? ", \(stream.due) due" : ""
            let dropped = stream.dropped.sorted { $0.key < $1.key }.map { ", \($0.value) dropped (\($0.key))" }.joined()
            let apart =
                (stream.consentPending > 0 ? ", \(stream.consentPending) waiting for consent" : "")
                + (stream.apart > 0 ? ", \(stream.apart) apart until an ended epoch is settled" : "")
            line(
                stream.name,
                "\(stream.waiting) waiting (\(CountText.of(stream.waitingBytes, "byte"))\(due))\(oldest), "
                    + "\(stream.acknowledged) of \(stream.lastNumber) acknowledged\(apart)\(dropped)")
        }
        if let divergence = status.divergence {
            line(
                "diverged",
                """
                \(divergence.reason) in stream \(divergence.stream), noticed \(moment(divergence.time)); the agent \
                settles it with the collector, then sends on in a new epoch
                """
            )
        }
        for reason in status.holding { line("holding", reason) }
        if status.quarantined > 0 {
            line(
                "quarantined",
                """
                \(CountText.of(status.quarantined, "quarantined record")): `ws1agent queue inspect` shows them, `queue \
                retry` sends them again
                """
            )
        }
        for salvage in status.salvages ?? [] {
            let file = salvage.file.isEmpty ? "" : "; kept in \(salvage.file)"
            line(
                "salvaged",
                "\(moment(salvage.time)): \(CountText.of(salvage.salvaged, "record")) still readable, "
                    + "\(salvage.lost) missing (lost and counted, but for those that had arrived): "
                    + "\(salvage.cause)\(file)")
        }
        if let failure = status.queueFailure { line("queue", "the last write failed: \(failure)") }
        line(
            "disk",
            "\(CountText.of(status.queueBytes, "byte")) of queue"
                + (status.freeBytes.map { ", \($0) bytes free" } ?? ""))
        text = lines.joined(separator: "\n")
    }

    static func words(_ decision: DeviceDNDStatus) -> String {
        var words = decision.isOn ? "on" : "off"
        switch decision.setBy {
        case .device: words += ", decided on this device"
        case .person: words += ", decided by \(decision.person ?? "a person") at the collector"
        case nil: words += ", nobody has decided"
        }
        if let time = decision.setAt {
            words += " at " + Date(timeIntervalSince1970: Double(time) / 1_000_000).ISO8601Format()
        }
        if decision.isOn, !decision.isAllowed { words += "; without effect, the profile does not allow it" }
        if !decision.isReported { words += "; the collector is told at the next contact" }
        return words
    }

    private static func profile(_ profile: DataSamplerStatus.Profile) -> String {
        let revision = profile.revision == 0 ? "none yet" : "revision \(profile.revision)"
        return revision + (profile.refusal.map { ", another was refused: \($0)" } ?? "")
            + (profile.failure.map { ", not fetched: \($0)" } ?? "")
    }

    private static func encryption(_ encryption: DataSamplerStatus.Encryption) -> String {
        let state = encryption.isOn ? "on, the device key is of \(encryption.provider ?? "nobody")" : "off"
        guard encryption.isLocked else { return state }
        return "\(state); LOCKED: \(encryption.reason ?? "the keys are not at hand")"
    }

    static func intake(_ intake: DataSamplerStatus.Intake, _ moment: (Int64?) -> String) -> String {
        let source =
            switch intake.kind {
            case "files": CountText.of(intake.parts, "file")
            case "syslog" where intake.parts > 0: "syslog at \(CountText.of(intake.parts, "socket"))"
            case "otlp" where intake.parts > 0: "OTLP at \(CountText.of(intake.parts, "socket"))"
            case "kernel": "kernel's ring"
            case let kind: kind
            }
        let behind =
            switch intake.behindBytes {
            case _ where intake.parts == 0 && intake.kind != "files": "cannot be read now"
            // A journal does not tell how much is left.
            case nil: intake.caughtUp == nil ? "not looked at yet" : "read to the end \(moment(intake.caughtUp))"
            case 0?: "read to the end \(moment(intake.caughtUp))"
            case let bytes?: "\(CountText.of(bytes, "byte")) behind"
            }
        let others =
            (intake.dataPoints.map { ", \(CountText.of($0, "data point")) queued" } ?? "")
            + (intake.passedBy > 0 ? ", \(intake.passedBy) passed by" : "")
            + (intake.leftOut > 0 ? ", \(intake.leftOut) left out over the limit" : "")
        return "\(intake.application): \(source), \(behind), "
            + "\(CountText.of(intake.stored, "line")) stored\(others)"
            + (intake.failure.map { "; WAITS: \($0)" } ?? "")
    }

    private static func metrics(_ source: DataSamplerStatus.MetricSource) -> String {
        let counts = [
            (source.refused, "refused over the limit"), (source.invalid, "invalid"),
            (source.kernelDrops, "dropped by the kernel"),
        ]
        return "\(source.module): \(source.kind), \(source.series) series"
            + counts.filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
            + (source.problem.map { "; \($0)" } ?? "")
    }

    private static func location(_ location: DataSamplerStatus.Location) -> String {
        guard let source = location.source else { return "no source" }
        guard location.isWanted else { return "\(source) is not asked: nobody wants the location, or may know it" }
        switch location.hasFix {
        case nil: return "\(source), not asked yet"
        case true?: return "\(source), known"
        case false?: return "\(source), not known: \(location.reason ?? "no reason given")"
        }
    }

    private static func logind(_ logind: DataSamplerStatus.Logind) -> String {
        guard logind.connected else { return "not available: \(logind.reason ?? "unknown")" }
        guard let reason = logind.reason else { return "connected" }
        return "connected, but sleep and shutdown do not wait for a last sample: \(reason)"
    }

    private static func describe(_ verdicts: DataSamplerStatus.Verdicts, _ line: (String, String) -> Void) {
        line("compromised", verdicts.compromised)
        for finding in verdicts.findings {
            line("evidence", "\(finding.detector) \(finding.verdict): \(finding.evidence)")
        }
        line(
            "compliance", "device \(verdicts.deviceCompliance), application \(verdicts.applicationCompliance)")
        for rule in verdicts.rules {
            let actual = rule.actual.isEmpty ? "an unknown version" : rule.actual
            line("rule", "\(rule.rule) \(rule.state): \(actual), expected \(rule.expected)")
        }
        for block in verdicts.blocks { line("block", block) }
    }

    private static func hundredths(_ factor: Double) -> String { "\((factor * 100).rounded() / 100)" }
}

/// Formats a balance as a table.
struct BalanceText {
    let text: String

    init(_ balance: DataSamplerBalance) {
        func row(_ cells: [String]) -> String {
            cells.enumerated().map { index, cell in
                let padding = String(repeating: " ", count: max(0, (index == 0 ? 8 : 10) - cell.count))
                return index == 0 ? cell + padding : padding + cell
            }.joined()
        }
        var lines = [row(["stream", "produced", "stored", "rejected", "dropped", "lost", "waiting"])]
        let order = ["status", "event", "sample"]
        for (name, stream) in balance.streams.sorted(by: {
            order.firstIndex(of: $0.key) ?? 9 < order.firstIndex(of: $1.key) ?? 9
        }) {
            let numbers = [
                stream.produced, stream.stored, stream.rejected.values.saturatingSum,
                stream.dropped.values.saturatingSum,
                stream.lostAtCollector, stream.waiting,
            ]
            lines.append(row([name] + numbers.map { "\($0)" }) + (stream.closes ? "" : "   does not close"))
        }
        lines.append("epoch \(balance.epoch): the balance \(balance.closes ? "closes" : "DOES NOT CLOSE")")
        text = lines.joined(separator: "\n")
    }
}

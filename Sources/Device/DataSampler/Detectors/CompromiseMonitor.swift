import Logging
import RecordQueue
import Synchronization
import WireModel

/// Keeps the detectors' results, so a beacon does not wait for them.
///
/// The detectors run again on demand, or when the report is older than ``interval``. One examination runs at a time. A
/// beacon uses the stored report and waits only for the very first one.
actor CompromiseMonitor {
    /// The greatest age of a report.
    static let interval = Duration.seconds(600)
    /// More would make beacons long; an application has a handful.
    static let maximumDetectors = 64

    private let make: @Sendable (DetectionRules) -> [any CompromiseDetector]
    private var rules: DetectionRules
    private var detectors: [any CompromiseDetector]
    private let clock: any RecordClock
    private let logger: Logger
    private nonisolated let kept = Mutex<CompromiseReport?>(nil)

    /// - Parameter make: the detectors for the rules; the first 64 are used.
    init(
        rules: DetectionRules, clock: any RecordClock, logger: Logger,
        _ make: @escaping @Sendable (DetectionRules) -> [any CompromiseDetector]
    ) {
        self.make = make
        self.rules = rules
        detectors = Array(make(rules).prefix(Self.maximumDetectors))
        self.clock = clock
        self.logger = logger
    }

    /// The stored report, at once. Waits only if there is none yet.
    nonisolated func report() async -> CompromiseReport {
        if let report = kept.withLock({ $0 }) { return report }
        return await firstReport()
    }

    /// The stored report; `nil` if there is none yet.
    nonisolated var newest: CompromiseReport? { kept.withLock { $0 } }

    /// Follows other rules at once.
    func follow(_ rules: DetectionRules) {
        guard rules != self.rules else { return }
        self.rules = rules
        detectors = Array(make(rules).prefix(Self.maximumDetectors))
        if newest != nil { refresh() }
    }

    /// Examines if the stored report is too old.
    /// - Returns: the new report if a verdict changed.
    func examineIfDue() -> CompromiseReport? {
        guard let former = kept.withLock({ $0 }) else {
            refresh()
            return nil
        }
        guard Self.isDue(lastExamined: former.examined, now: clock.now().timeSinceBoot) else { return nil }
        let report = refresh()
        return report.differs(from: former) ? report : nil
    }

    /// Pure. A clock that went back means another boot, so it is due.
    static func isDue(lastExamined: UInt64, now: UInt64) -> Bool {
        now < lastExamined || now - lastExamined >= UInt64(interval.components.seconds) * 1_000_000
    }

    private func firstReport() -> CompromiseReport { kept.withLock { $0 } ?? refresh() }

    /// Examines now, whatever is stored, and reports a changed verdict.
    @discardableResult func examine(telling events: DeviceEvents) async -> (report: CompromiseReport, isOther: Bool) {
        let former = firstReport()
        let report = refresh()
        let isOther = report.differs(from: former)
        if isOther { await events.report(.verdictChanged) }
        return (report, isOther)
    }

    /// Examines now, whatever is stored.
    @discardableResult func refresh() -> CompromiseReport {
        var report = CompromiseReport(examined: clock.now().timeSinceBoot)
        report.findings = detectors.compactMap { detector in
            detector.examine().map { CompromiseReport.Finding(detector: detector.name, finding: $0) }
        }
        let former = kept.withLock { kept in
            defer { kept = report }
            return kept
        }
        if former.map(report.differs(from:)) ?? (report.verdict == .yes) {
            for finding in report.findings where finding.finding.verdict == .yes {
                logger.warning(
                    "a sign of compromise",
                    metadata: ["detector": "\(finding.detector)", "evidence": "\(finding.finding.evidence)"])
            }
        }
        return report
    }
}

/// The results of all detectors at one time.
struct CompromiseReport: Equatable, Sendable {
    struct Finding: Equatable, Sendable {
        static let maximumNameBytes = 64

        var detector: String
        var finding: CompromiseFinding

        var wire: WireFinding {
            var message = WireFinding()
            message.detector = detector.bounded(bytes: Self.maximumNameBytes)
            message.verdict = finding.verdict.wire
            message.evidence = finding.evidence
            return message
        }
    }

    /// The findings in the order of the detectors. Those without anything to examine are left out.
    var findings: [Finding] = []
    /// When the examination began, in microseconds since boot.
    var examined: UInt64 = 0

    /// Yes if one sign was found. No only if something was examined and all of it could be.
    var verdict: CompromiseFinding.Verdict {
        if findings.contains(where: { $0.finding.verdict == .yes }) { return .yes }
        return !findings.isEmpty && findings.allSatisfy { $0.finding.verdict == .no } ? .no : .unknown
    }

    /// Whether a beacon is due. Different wording of the evidence alone is not enough.
    func differs(from other: CompromiseReport) -> Bool {
        func verdicts(_ report: CompromiseReport) -> [String: CompromiseFinding.Verdict] {
            Dictionary(report.findings.map { ($0.detector, $0.finding.verdict) }) { first, _ in first }
        }
        return verdicts(self) != verdicts(other)
    }
}

extension CompromiseFinding.Verdict {
    var wire: WireVerdict {
        switch self {
        case .unknown: .unknown
        case .no: .no
        case .yes: .yes
        }
    }
}

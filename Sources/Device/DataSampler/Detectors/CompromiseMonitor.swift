import Logging
import RecordQueue
import Synchronization
import WireModel

/// Keeps what the detectors have seen, so that a beacon does not wait for them.
///
/// The detectors are asked again on demand, or when the report is older than ``interval``. One examination runs at a
/// time. A beacon takes the kept report meanwhile and waits only for the very first.
actor CompromiseMonitor {
    /// How old a report may be.
    static let interval = Duration.seconds(600)
    /// More would make beacons long; an application has a handful.
    static let maximumDetectors = 64

    private let detectors: [any CompromiseDetector]
    private let clock: any RecordClock
    private let logger: Logger
    private nonisolated let kept = Mutex<CompromiseReport?>(nil)

    /// - Parameter detectors: the first 64 are asked.
    init(detectors: [any CompromiseDetector], clock: any RecordClock, logger: Logger) {
        self.detectors = Array(detectors.prefix(Self.maximumDetectors))
        self.clock = clock
        self.logger = logger
    }

    /// What is kept, at once; only where nothing is yet, it is waited for.
    nonisolated func report() async -> CompromiseReport {
        if let report = kept.withLock({ $0 }) { return report }
        return await firstReport()
    }

    /// Examines again and again until its task is cancelled.
    ///
    /// - Parameter changed: called when a verdict is another than before.
    func run(sleeper: any Clock<Duration>, changed: @Sendable (CompromiseReport) async -> Void) async {
        while !Task.isCancelled {
            if let report = examineIfDue() { await changed(report) }
            // Cancelled: the loop ends.
            try? await sleeper.sleep(for: Self.interval)
        }
    }

    /// Looks if what is kept is too old.
    /// - Returns: the new report where a verdict has changed.
    func examineIfDue() -> CompromiseReport? {
        guard let former = kept.withLock({ $0 }) else {
            refresh()
            return nil
        }
        guard Self.isDue(lastExamined: former.examined, now: clock.now().timeSinceBoot) else { return nil }
        let report = refresh()
        return report.differs(from: former) ? report : nil
    }

    /// Pure. A clock that went back means another boot: looked again.
    static func isDue(lastExamined: UInt64, now: UInt64) -> Bool {
        now < lastExamined || now - lastExamined >= UInt64(interval.components.seconds) * 1_000_000
    }

    private func firstReport() -> CompromiseReport { kept.withLock { $0 } ?? refresh() }

    /// Looks now, whatever is kept.
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

/// What all detectors have seen at one time.
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

    /// In the order of the detectors; those that had nothing to look at say nothing.
    var findings: [Finding] = []
    /// Microseconds since boot when the examination began.
    var examined: UInt64 = 0

    /// Yes where one sign was seen. No only where something was looked at and everything that was could be seen.
    var verdict: CompromiseFinding.Verdict {
        if findings.contains(where: { $0.finding.verdict == .yes }) { return .yes }
        return !findings.isEmpty && findings.allSatisfy { $0.finding.verdict == .no } ? .no : .unknown
    }

    /// Whether a beacon is due for it: evidence that is only worded otherwise is not worth one.
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

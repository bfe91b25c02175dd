import WireModel

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

import DeviceTestKit
import Logging
import Synchronization
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite(.timeLimit(.minutes(10))) struct CompromiseMonitorTests {
    private final class ScriptedDetector: CompromiseDetector {
        let name: String
        let state: Mutex<(finding: CompromiseFinding?, asked: Int)>

        init(_ name: String, _ verdict: CompromiseFinding.Verdict?) {
            self.name = name
            state = Mutex((verdict.map { CompromiseFinding($0, evidence: "first") }, 0))
        }

        func set(_ verdict: CompromiseFinding.Verdict, evidence: String = "then") {
            state.withLock { $0.finding = CompromiseFinding(verdict, evidence: evidence) }
        }

        var asked: Int { state.withLock { $0.asked } }

        func examine() -> CompromiseFinding? {
            state.withLock {
                $0.asked += 1
                return $0.finding
            }
        }
    }

    private let clock = ManualRecordClock()

    private func monitor(_ detectors: [any CompromiseDetector]) -> CompromiseMonitor {
        CompromiseMonitor(
            rules: DetectionRules(), clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in detectors }
    }

    @Test(
        arguments: [
            ([], .unknown), ([nil], .unknown), ([.no], .no), ([.no, nil], .no), ([.no, .unknown], .unknown),
            ([.unknown], .unknown),
            ([.no, .unknown, .yes], .yes), ([.yes], .yes),
        ] as [([CompromiseFinding.Verdict?], CompromiseFinding.Verdict)])
    func `Together they say yes for one sign, no only where all could look`(
        verdicts: [CompromiseFinding.Verdict?], expected: CompromiseFinding.Verdict
    ) async {
        let report = await monitor(verdicts.enumerated().map { ScriptedDetector("d\($0.offset)", $0.element) }).report()
        #expect(report.verdict == expected)
        #expect(report.findings.count == verdicts.count { $0 != nil })
    }

    @Test func `Beacons are reported what is kept, and it is looked again after ten minutes or on demand`() async {
        let detector = ScriptedDetector("d", .no)
        let monitor = monitor([detector])
        for _ in 1...10 { _ = await monitor.report() }
        #expect(detector.asked == 1)
        clock.advance(by: .seconds(599))
        #expect(await monitor.examineIfDue() == nil)
        #expect(detector.asked == 1)
        clock.advance(by: .seconds(1))
        #expect(await monitor.examineIfDue() == nil, "the same verdict is no change")
        #expect(detector.asked == 2)
        detector.set(.yes)
        #expect(await monitor.report().verdict == .no)
        #expect(await monitor.refresh().verdict == .yes)
        #expect(await monitor.report().verdict == .yes)
        #expect(detector.asked == 3)
    }

    @Test func `A change is another verdict, not other words`() async {
        let detector = ScriptedDetector("d", .no)
        let monitor = monitor([detector])
        #expect(await monitor.examineIfDue() == nil, "the first is no change")
        detector.set(.no, evidence: "other words")
        clock.advance(by: CompromiseMonitor.interval)
        #expect(await monitor.examineIfDue() == nil)
        detector.set(.unknown)
        clock.advance(by: CompromiseMonitor.interval)
        #expect(await monitor.examineIfDue()?.findings.first?.finding.verdict == .unknown)
    }

    @Test func `A running sampler reports another verdict with a beacon, ten minutes later at the latest`() async throws
    {
        let detector = ScriptedDetector("d", .no)
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        var environment = SamplerBench.environment(bench.collector)
        environment.clock = clock
        environment.beaconChangeDelay = .zero
        environment.detectors = { _, _, _ in [detector] }
        let sampler = try DataSampler(
            configuration: SamplerBench.configuration(directory.path), environment: environment,
            logger: Logger(label: "test"))
        try await sampler.start()
        try await sampler.sendBeacon()
        detector.set(.yes)
        clock.advance(by: CompromiseMonitor.interval)
        try sampler.running().events.wake(.compromise)
        try await bench.arrived { try await bench.beacons().contains { $0.trigger == .change } }
        await sampler.stop()
    }

    @Test(
        arguments: [(0, 0, false), (0, 599_999_999, false), (0, 600_000_000, true), (5, 4, true)]
            as [(UInt64, UInt64, Bool)])
    func `When it is due follows the boot clock`(last: UInt64, now: UInt64, expected: Bool) {
        #expect(CompromiseMonitor.isDue(lastExamined: last, now: now) == expected)
    }

    @Test func `Names and evidence of an application's detector are bounded, and so is how many are asked`() async {
        let long = ScriptedDetector(String(repeating: "n", count: 1_000), nil)
        long.set(.no, evidence: String(repeating: "é", count: 10_000))
        let report = await monitor((0..<100).map { _ in long }).report()
        #expect(report.findings.count == CompromiseMonitor.maximumDetectors)
        let wire = report.findings[0].wire
        #expect(wire.detector.utf8.count == 64 && wire.evidence.utf8.count == 512)
    }
}

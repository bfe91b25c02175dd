import DeviceTestKit
import Foundation
import Logging
import SampleModules
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite struct AnalyticsLedgerTests {
    private let clock = ManualRecordClock()

    private func ledger(_ directory: borrowing TemporaryDirectory, isEnabled: Bool = true) -> AnalyticsLedger {
        AnalyticsLedger(
            directory: directory.path, clock: clock, isEnabled: isEnabled,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, damaged: { _ in })
    }

    private func take(_ ledger: AnalyticsLedger) -> WireAnalyticsSample? {
        ledger.sample(at: clock.now().timeSinceBoot)
    }

    private func identity(_ directory: borrowing TemporaryDirectory) throws -> UInt64? {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory.path)/analytics")
        return (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
    }

    @Test func `A launch counts once per start, survives a crash, and is not reported again`() throws {
        let directory = try TemporaryDirectory()
        let first = ledger(directory)
        first.launched()
        first.launched()
        // No stop: a crash.
        let second = ledger(directory)
        second.launched()
        #expect(take(second)?.launches == 2)
        #expect(take(second)?.launches == 0)
        let third = ledger(directory)
        #expect(take(third)?.launches == 0)
    }

    @Test func `The launch is reported as an event once, with the time it had`() throws {
        let directory = try TemporaryDirectory()
        let ledger = ledger(directory)
        #expect(ledger.drainUnreportedLaunch() == nil)
        let stamp = clock.now()
        ledger.launched()
        clock.advance(by: .seconds(30))
        #expect(ledger.drainUnreportedLaunch() == stamp)
        ledger.launched()
        #expect(ledger.drainUnreportedLaunch() == nil)
    }

    @Test func `Time in use does not follow the wall clock, and an orderly stop keeps what is unreported`() throws {
        let directory = try TemporaryDirectory()
        let first = ledger(directory)
        first.beginSession()
        clock.advance(by: .seconds(20))
        clock.setWallClock(by: .seconds(-1_000_000))
        clock.advance(by: .seconds(20))
        first.eventRecorded()
        first.stop()
        clock.reboot(after: .seconds(500))
        let sample = try #require(take(self.ledger(directory)))
        #expect(sample.useMicroseconds == 40_000_000)
        #expect(sample.sessions == 1)
        #expect(sample.eventsRecorded == 1)
    }

    @Test func `Events belong to the open session, and outside of one to the run`() throws {
        let directory = try TemporaryDirectory()
        let ledger = ledger(directory)
        let run = ledger.sessionID
        let session = ledger.beginSession()
        #expect(session != run && ledger.sessionID == session)
        #expect(ledger.beginSession() == session)
        ledger.endSession()
        ledger.endSession()
        #expect(ledger.sessionID == run)
        #expect(ledger.beginSession() != session)
    }

    @Test func `Steady use writes nothing`() throws {
        let directory = try TemporaryDirectory()
        let ledger = ledger(directory)
        ledger.launched()
        ledger.beginSession()
        _ = take(ledger)
        let written = try identity(directory)
        for _ in 1...50 {
            clock.advance(by: .seconds(1))
            ledger.eventRecorded()
            #expect(take(ledger)?.useMicroseconds == 1_000_000)
        }
        #expect(try identity(directory) == written)
        ledger.endSession()
        #expect(try identity(directory) != written)
    }

    @Test func `While analytics is off nothing is reported, nor later what was then`() throws {
        let directory = try TemporaryDirectory()
        let ledger = ledger(directory, isEnabled: false)
        var module = AnalyticsModule(ledger: ledger)
        let time = SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: clock.now().timeSinceBoot)
        ledger.eventRecorded()
        #expect(module.sample(at: time) == .none(reason: "analytics is not enabled"))
        ledger.eventRecorded()
        ledger.setEnabled(true)
        ledger.eventRecorded()
        guard case .sample(let result) = module.sample(at: time) else {
            Issue.record("no sample")
            return
        }
        #expect(result.kind == .sampleAnalytics && result.module == "analytics")
        #expect(try WireAnalyticsSample.decode(result.body).eventsRecorded == 1)
    }

    @Test(arguments: [
        "", "{", "[]", "{\"launches\":-1}", "{\"launches\":1e30}", String(repeating: "x", count: 100_000),
    ])
    func `A damaged file is begun anew`(content: String) throws {
        let directory = try TemporaryDirectory()
        try Data(content.utf8).write(to: URL(filePath: "\(directory.path)/analytics"))
        let ledger = ledger(directory)
        ledger.launched()
        #expect(take(ledger)?.launches == 1)
    }

    @Test func `Truncated at every byte, the file is read or begun anew`() throws {
        let directory = try TemporaryDirectory()
        let url = URL(filePath: "\(directory.path)/analytics")
        ledger(directory).launched()
        let whole = try Data(contentsOf: url)
        for count in 0..<whole.count {
            try whole.prefix(count).write(to: url)
            #expect(take(self.ledger(directory))?.launches == 0)
        }
        try whole.write(to: url)
        #expect(take(self.ledger(directory))?.launches == 1)
    }
}

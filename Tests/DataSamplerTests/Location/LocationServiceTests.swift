import DeviceTestKit
import Logging
import TestKit
import Testing

@testable import DataSampler

/// A source whose answers a test gives.
final class ScriptedLocationSource: LocationSource {
    let name = "a scripted receiver"
    let locates = Watched(0)
    let rests = Watched(0)
    private let answers: @Sendable (Int) async -> LocationObservation

    /// - Parameter answers: to the question of this number, from 1.
    init(_ answers: @escaping @Sendable (Int) async -> LocationObservation) { self.answers = answers }

    convenience init() { self.init { .fix(LocationFix(latitude: 1, longitude: 2, time: Int64($0))) } }

    func locate() async -> LocationObservation {
        locates.change { $0 += 1 }
        return await answers(locates.value)
    }

    func rest() async { rests.change { $0 += 1 } }
}

@Suite(.timeLimit(.minutes(5))) struct LocationServiceTests {
    private let clock = ManualRecordClock()
    private let sleeper = ManualSleeper()

    private func service(_ source: (any LocationSource)?) -> LocationService {
        LocationService(source: source, clock: clock, sleeper: sleeper, logger: Logger(label: "test"))
    }

    @Test func `Nothing is asked while nobody wants the location`() async {
        let source = ScriptedLocationSource()
        let service = service(source)
        #expect(await service.current(for: .samples) == nil)
        await service.apply(LocationDemand(needs: [.beacons]))
        #expect(await service.current(for: .samples) == nil, "samples are not among those who may")
        #expect(source.locates.value == 0)
        let report = await service.report
        #expect(report.isWanted && report.hasFix == nil)
    }

    @Test func `An answer is shared within a second, and asked anew after it`() async {
        let source = ScriptedLocationSource()
        let service = service(source)
        await service.apply(LocationDemand(needs: [.samples, .beacons]))
        let first = await service.current(for: .samples)
        clock.advance(by: .milliseconds(999))
        #expect(await service.current(for: .beacons) == first)
        clock.advance(by: .milliseconds(1))
        #expect(await service.current(for: .beacons) == .fix(LocationFix(latitude: 1, longitude: 2, time: 2)))
        #expect(source.locates.value == 2)
    }

    @Test func `When nobody wants it any more the source rests, and no position is kept`() async throws {
        let source = ScriptedLocationSource()
        let service = service(source)
        var observations = await service.observations().makeAsyncIterator()
        await service.apply(LocationDemand(needs: [.samples]))
        let fix = await service.current(for: .samples)
        #expect(await observations.next() == fix)
        await service.apply(LocationDemand())
        try await source.rests.until { $0 == 1 }
        guard case .lost(let loss)? = await observations.next() else {
            Issue.record("a position")
            return
        }
        #expect(!loss.hasReceiver)
        #expect(await service.report.hasFix == nil)
        await service.apply(LocationDemand(needs: [.samples]))
        #expect(await service.current(for: .samples) == .fix(LocationFix(latitude: 1, longitude: 2, time: 2)))
    }

    @Test func `A source that does not answer counts as lost after five seconds, and is not asked again before it has`()
        async throws
    {
        let gate = Watched(false)
        let source = ScriptedLocationSource { number in
            if number == 1 { try? await Task { try await gate.until { $0 } }.value }
            return .fix(LocationFix(latitude: 1, longitude: 2, time: Int64(number)))
        }
        let service = service(source)
        await service.apply(LocationDemand(needs: [.samples]))
        async let first = service.current(for: .samples)
        await sleeper.waitForSleeper()
        sleeper.advance(by: .seconds(5))
        guard case .lost(let loss)? = await first else {
            Issue.record("a position")
            return
        }
        #expect(!loss.hasReceiver && loss.reason.contains("did not answer"))
        #expect(service.obstacle == loss.reason)
        clock.advance(by: .seconds(60))
        #expect(await service.current(for: .samples) == .lost(loss))
        #expect(source.locates.value == 1)
        gate.change { $0 = true }
        try await SamplerBench.until {
            self.clock.advance(by: .seconds(2))
            return await service.current(for: .samples) == .fix(LocationFix(latitude: 1, longitude: 2, time: 2))
        }
        #expect(service.obstacle == nil)
    }

    @Test func `What is forbidden during a question is not answered`() async throws {
        let gate = Watched(false)
        let source = ScriptedLocationSource { _ in
            try? await Task { try await gate.until { $0 } }.value
            return .fix(LocationFix(latitude: 1, longitude: 2, time: 1))
        }
        let service = service(source)
        await service.apply(LocationDemand(needs: [.samples]))
        async let answer = service.current(for: .samples)
        try await source.locates.until { $0 == 1 }
        await service.apply(LocationDemand())
        #expect(await answer == nil)
        gate.change { $0 = true }
        try await source.rests.until { $0 == 1 }
        #expect(await service.report.hasFix == nil)
    }

    @Test func `Geofences have the source asked on a timer, for as long as they are there`() async throws {
        let source = ScriptedLocationSource()
        let service = service(source)
        let run = Task { await service.run() }
        await service.apply(LocationDemand(needs: [.geofences], watchInterval: .seconds(10)))
        for round in 1...3 {
            try await source.locates.until { $0 == round }
            // The timer of the question is cancelled; the next sleeper is that of the pause.
            try await SamplerBench.until { self.sleeper.nextWake == .seconds(10) }
            clock.advance(by: .seconds(10))
            sleeper.advance(by: .seconds(10))
        }
        run.cancel()
        await run.value
        try await source.rests.until { $0 == 1 }
    }

    @Test func `A position that cannot be is none`() async {
        let service = service(ScriptedLocationSource { _ in .fix(LocationFix(latitude: 91, longitude: 2, time: 1)) })
        await service.apply(LocationDemand(needs: [.samples]))
        guard case .lost(let loss)? = await service.current(for: .samples) else {
            Issue.record("a position")
            return
        }
        #expect(loss.hasReceiver && loss.reason == "the position is out of range")
    }
}

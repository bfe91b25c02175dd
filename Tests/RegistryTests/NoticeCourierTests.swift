import CollectorTunables
import DeviceTestKit
import Foundation
import RegistryTestKit
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite(.timeLimit(.minutes(5)), .eachRegistry) struct NoticeCourierTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func service() throws -> NoticeService {
        try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
    }

    /// What a receiver got, and how it answers.
    private final class Receiver: Sendable {
        let posted = Mutex<[String]>([])
        let answer = Mutex(NoticeCourier.Delivery.delivered)

        func post(_ news: NoticeNews) -> NoticeCourier.Delivery {
            posted.withLock { $0.append(news.kind == .raised ? news.notice.subject : "\(news.notice.subject) is over") }
            return answer.withLock { $0 }
        }

        var subjects: [String] { posted.withLock { $0 } }
    }

    @Test(arguments: [(0, 10), (1, 20), (3, 80), (6, 640), (60, 640)])
    func `It waits longer with each failure`(failures: Int, seconds: Int) {
        #expect(NoticeCourier.pause(after: failures) == .seconds(seconds))
    }

    @Test func `Each notice is handed on once, and none is lost`() async throws {
        let service = try service()
        let receiver = Receiver()
        let sleeper = ManualSleeper()
        let courier = NoticeCourier(service: service, logger: quietLogger) { receiver.post($0) }
        let running = Task { await courier.run(on: sleeper) }
        await sleeper.waitForSleeper()
        #expect(receiver.subjects.isEmpty)

        for subject in ["a", "b"] { await service.raise(.diskLow, subject: subject, detail: "") }
        // The same again is the same notice.
        await service.raise(.diskLow, subject: "a", detail: "")
        sleeper.advance(by: .seconds(10))
        await sleeper.waitForSleeper(after: 1)
        #expect(receiver.subjects == ["a", "b"])

        receiver.answer.withLock { $0 = .failed("away") }
        for subject in ["c", "d"] { await service.raise(.diskLow, subject: subject, detail: "") }
        sleeper.advance(by: .seconds(10))
        await sleeper.waitForSleeper(after: 2)
        #expect(sleeper.nextWake == .seconds(20))
        running.cancel()
        await running.value

        // Another process goes on where this one was; what is refused is passed over.
        receiver.answer.withLock { $0 = .refused("no") }
        let later = Task {
            await NoticeCourier(service: service, logger: quietLogger) { receiver.post($0) }.run(on: sleeper)
        }
        await sleeper.waitForSleeper(after: 3)
        #expect(receiver.subjects == ["a", "b", "c", "c", "d"])
        later.cancel()
        await later.value
    }

    /// One look at what there is to hand on.
    private func look(_ service: NoticeService, _ receiver: Receiver) async {
        let sleeper = ManualSleeper()
        let running = Task {
            await NoticeCourier(service: service, logger: quietLogger) { receiver.post($0) }.run(on: sleeper)
        }
        await sleeper.waitForSleeper()
        running.cancel()
        await running.value
    }

    @Test func `The first look ever hands on what lasts and not what is over`() async throws {
        let service = try service()
        await service.raise(.diskLow, subject: "the disk of the first start", detail: "")
        await service.raise(.certificateExpiry, subject: "a certificate long renewed", detail: "")
        await service.end(.certificateExpiry, subject: "a certificate long renewed")
        await service.raise(.uploadExpired, subject: "an upload of long ago", detail: "")
        clock.advance(days: 1)
        await service.raise(.uploadExpired, subject: "an upload of now", detail: "")
        let receiver = Receiver()
        await look(service, receiver)
        #expect(receiver.subjects == ["the disk of the first start", "an upload of now"])
        await look(service, receiver)
        #expect(receiver.subjects.count == 2)
    }

    @Test func `The end of a notice is handed on once, and so is its return`() async throws {
        let service = try service()
        let receiver = Receiver()
        await look(service, receiver)
        await service.raise(.diskLow, subject: "disk", detail: "")
        await look(service, receiver)
        await service.end(.diskLow, subject: "disk")
        receiver.answer.withLock { $0 = .failed("away") }
        await look(service, receiver)
        receiver.answer.withLock { $0 = .delivered }
        for _ in 0..<2 { await look(service, receiver) }
        #expect(
            receiver.subjects == ["disk", "disk is over", "disk is over"],
            "once more after a failure, and then not again")
        // Raised and over between two looks: both are reported, in this order.
        await service.raise(.diskLow, subject: "disk", detail: "")
        await service.end(.diskLow, subject: "disk")
        for _ in 0..<2 { await look(service, receiver) }
        #expect(receiver.subjects.dropFirst(3) == ["disk", "disk is over"])
    }

    @Test func `A notice that goes on after its end was reported is reported again`() async throws {
        let service = try service()
        let receiver = Receiver()
        await look(service, receiver)
        func silent(_ isSilent: Bool) async {
            let device = SilentDevice(
                id: DeviceID(high: 1, low: 2), organization: "default", silentSeconds: 100, expectedBeaconSeconds: 10)
            await service.report(isSilent ? [device] : [], isSettled: true)
        }
        for step in [true, false, true, true] {
            await silent(step)
            clock.advance(seconds: 60)
            await look(service, receiver)
        }
        let subject = "\(DeviceID(high: 1, low: 2))"
        #expect(receiver.subjects == [subject, "\(subject) is over", subject])
        // It ended and began again before anybody was notified: there is nothing to report.
        await silent(false)
        await silent(true)
        await look(service, receiver)
        #expect(receiver.subjects.count == 3)
    }

    @Test func `Verdicts that alternate are posted once until the end has lasted`() async throws {
        let service = try service()
        let receiver = Receiver()
        await look(service, receiver)
        for _ in 0..<5 {
            await service.raise(.deviceCompromised, organization: "west", subject: "d", detail: "")
            clock.advance(seconds: 10)
            await look(service, receiver)
            await service.end(.deviceCompromised, organization: "west", subject: "d")
            await look(service, receiver)
        }
        #expect(receiver.subjects == ["d"])
        clock.advance(seconds: 3600)
        for _ in 0..<2 { await look(service, receiver) }
        #expect(receiver.subjects == ["d", "d is over"])
    }

    @Test func `A look delivers a bounded number, and the next goes on`() async throws {
        let service = try service()
        let receiver = Receiver()
        await look(service, receiver)
        let most = Tunables.Notices.deliveriesPerLook
        for number in 0..<most + 5 { await service.raise(.diskLow, subject: "\(number)", detail: "") }
        await look(service, receiver)
        #expect(receiver.subjects == (0..<most).map { "\($0)" })
        await look(service, receiver)
        #expect(receiver.subjects == (0..<most + 5).map { "\($0)" })
    }

    @Test func `What is open outlives what has ended`() async throws {
        let service = try service()
        await service.raise(.deviceNonCompliant, organization: "west", subject: "open", detail: "")
        for number in 0..<1005 {
            await service.raise(.uploadExpired, organization: "west", subject: "\(number)", detail: "")
        }
        let kept = try await service.page(organization: "west", below: nil, limit: 1000).rows
        #expect(kept.count == 1000)
        #expect(kept.contains { $0.subject == "open" })
        #expect(!kept.contains { $0.subject == "5" } && kept.contains { $0.subject == "6" })
    }

    @Test func `Losses of a device are added up`() async throws {
        let (metadata, first) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        let device = try await metadata.enroll(token: try #require(first).enrollmentToken, request: WireEnrollRequest())
            .deviceID
        let service = try service()
        for _ in 0..<3 {
            service.record(DeviceIncident(.recordsLost, device: device, stream: .event), count: 10)
            await service.flush()
        }
        service.record(DeviceIncident(.identityConflict, device: device, stream: .event), count: 1)
        await service.flush()
        let notices = try await service.unposted(since: 0, limit: 10).map(\.notice)
        #expect(
            notices.map(\.count) == [3, 1] && notices[0].detail.hasPrefix("30 records of the event stream"),
            "\(notices)")
        await metadata.close()
    }

    @Test func `A notice of losses names every stream that lost`() async throws {
        let (metadata, first) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        let device = try await metadata.enroll(token: try #require(first).enrollmentToken, request: WireEnrollRequest())
            .deviceID
        let service = try service()
        for kind in [DeviceIncident.Kind.recordsLost, .damagedOnDevice, .identityConflict] {
            // Two in one go, and more later on.
            for streams in [[StreamName.sample, .event], [.event], [.status]] {
                for stream in streams { service.record(DeviceIncident(kind, device: device, stream: stream), count: 2) }
                await service.flush()
            }
        }
        let notices = try await service.unposted(since: 0, limit: 10).map(\.notice)
        #expect(notices.allSatisfy { $0.streams == [.status, .event, .sample] && $0.amount == 8 })
        let details = notices.map(\.detail)
        let streams = "the status, event and sample streams"
        #expect(details.count == 3 && details.allSatisfy { $0.contains(streams) }, "\(details)")
        #expect(details.filter { $0.hasPrefix("8 records of ") }.count == 2)
        await metadata.close()
    }
}

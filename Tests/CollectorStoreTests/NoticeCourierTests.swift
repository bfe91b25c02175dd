import Foundation
import Synchronization
import TelemetryTestKit
import Testing

@testable import CollectorStore

@Suite(.timeLimit(.minutes(1))) struct NoticeCourierTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func desk() throws -> NoticeDesk { try NoticeDesk(directory: directory.path, clock: clock, logger: quietLogger) }

    /// What a receiver got, and how it answers.
    private final class Receiver: Sendable {
        let posted = Mutex<[String]>([])
        let answer = Mutex(NoticeCourier.Delivery.delivered)

        func post(_ notice: NoticeRow) -> NoticeCourier.Delivery {
            posted.withLock { $0.append(notice.subject) }
            return answer.withLock { $0 }
        }

        var subjects: [String] { posted.withLock { $0 } }
    }

    @Test(arguments: [(0, 10), (1, 20), (3, 80), (6, 640), (60, 640)])
    func itWaitsLongerWithEachFailure(failures: Int, seconds: Int) {
        #expect(NoticeCourier.pause(after: failures) == .seconds(seconds))
    }

    @Test func eachNoticeIsHandedOnOnceAndNoneIsLost() async throws {
        let desk = try desk()
        await desk.raise(.diskLow, subject: "before", detail: "")
        let receiver = Receiver()
        let sleeper = ManualSleeper()
        let courier = NoticeCourier(desk: desk, logger: quietLogger) { receiver.post($0) }
        let running = Task { await courier.run(on: sleeper) }
        await sleeper.waitForSleeper()
        #expect(receiver.subjects.isEmpty, "what was raised before is not handed on")

        for subject in ["a", "b"] { await desk.raise(.diskLow, subject: subject, detail: "") }
        // The same again is the same notice.
        await desk.raise(.diskLow, subject: "a", detail: "")
        sleeper.advance(by: .seconds(10))
        await sleeper.waitForSleeper(after: 1)
        #expect(receiver.subjects == ["a", "b"])

        receiver.answer.withLock { $0 = .failed("away") }
        for subject in ["c", "d"] { await desk.raise(.diskLow, subject: subject, detail: "") }
        sleeper.advance(by: .seconds(10))
        await sleeper.waitForSleeper(after: 2)
        #expect(sleeper.nextWake == .seconds(20))
        running.cancel()
        await running.value

        // Another process goes on where this one was; what is refused is passed over.
        receiver.answer.withLock { $0 = .refused("no") }
        let later = Task { await NoticeCourier(desk: desk, logger: quietLogger) { receiver.post($0) }.run(on: sleeper) }
        await sleeper.waitForSleeper(after: 3)
        #expect(receiver.subjects == ["a", "b", "c", "c", "d"])
        later.cancel()
        await later.value
    }
}

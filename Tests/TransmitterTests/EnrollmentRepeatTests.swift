import DeviceTestKit
import StoreTestKit
import Synchronization
import Testing
import WireModel
@testable import Transmitter

/// A lost answer to an enrollment makes no device that never reports.
@Suite(.timeLimit(.minutes(5))) struct EnrollmentRepeatTests {
    /// - Parameter older: a second credential that the collector does not know any more. The device changes from one to
    ///   the other before it enrolls again, and saves its identity each time.
    @Test(arguments: [nil, "older"] as [String?])
    func `Who cannot prove its id becomes one new device, though the answer is lost and the device starts again`(
        older: String?
    ) async throws {
        let bench = TransmitterBench()
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { _, transmitter in
            #expect(await transmitter.pass() == .finished)
        }
        var rolledBack = try #require(enrollments.load())
        rolledBack.credential = "former"
        rolledBack.formerCredential = older
        try enrollments.save(rolledBack)

        // The first request asks for the id and is refused. The second one makes the new device.
        let requests = Mutex(0)
        bench.collector.setFaults { request, _ in
            guard request.path == WireNames.enrollPath else { return nil }
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            return number == 2 ? .answerLost : nil
        }
        for _ in 0..<2 {
            try await bench.run(enrollments: enrollments) { queue, transmitter in
                try await bench.enqueue(1, to: queue)
                guard case .paused = await transmitter.pass() else { Issue.record("sent as another device"); return }
            }
        }
        let new = try #require(enrollments.load())
        #expect(new.deviceID != rolledBack.deviceID)
        #expect(bench.collector.enrolledDevices == [rolledBack.deviceID, new.deviceID])
        #expect(requests.withLock { $0 } == 3, "the third request repeated the second one")
    }
}

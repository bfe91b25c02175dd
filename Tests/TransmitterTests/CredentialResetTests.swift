import DeviceTestKit
import RecordQueue
import StoreTestKit
import Synchronization
import Testing
import WireModel

@testable import Transmitter

/// A device gets new credentials, or tries again to get its first ones.
@Suite(.timeLimit(.minutes(5))) struct CredentialResetTests {
    private let bench = TransmitterBench()

    @Test func `The same device gets another credential, and what waits is sent with it`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(2, to: queue)
            #expect(await transmitter.pass() == .finished)
            let former = try #require(enrollments.load())
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.resetCredentials() == .empty)
            let present = try #require(enrollments.load())
            #expect(present.deviceID == former.deviceID && present.credential != former.credential)
            #expect(present.enrollmentID != former.enrollmentID)
            #expect(present.formerCredential == nil && present.spareCredential == nil)
            bench.collector.forget(credential: former.credential)
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored() == [1, 2, 3])
            #expect(bench.collector.enrolledDevices.count == 1)
        }
    }

    @Test func `Where the collector cannot be reached or refuses, the present credential stays`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            #expect(await transmitter.resetCredentials() == .notEnrolled("the device is not enrolled"))
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            let former = enrollments.load()
            let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
            let faults: [LoopbackCollector.Fault] = [
                .requestLost, .answered(TransportResponse(status: 403, headers: headers)),
                .answered(TransportResponse(status: 503, headers: headers)),
            ]
            for fault in faults {
                bench.collector.setFaults { request, _ in request.path == WireNames.enrollPath ? fault : nil }
                #expect(await transmitter.resetCredentials() != .empty)
                #expect(enrollments.load() == former)
            }
            bench.collector.setFaults { _, _ in nil }
            try await bench.enqueue(1, to: queue)
            var passes = 0
            while await transmitter.pass() != .finished, passes < 10 {
                passes += 1
                bench.clock.advance(by: .seconds(3600))
            }
            #expect(try await bench.stored() == [1, 2])
        }
    }

    /// Time can mend each of these: a token that is not known yet, one that is given more uses, a collector that is
    /// busy or gone.
    @Test(arguments: [401, 403, 404, 409, 429, 500, 503, nil])
    func `An enrollment that failed is tried again within a day, as often as it takes`(status: Int?) async throws {
        let tries = Mutex(0)
        let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
        bench.collector.setFaults { request, _ in
            guard request.path == WireNames.enrollPath else { return nil }
            tries.withLock { $0 += 1 }
            return status.map { .answered(TransportResponse(status: $0, headers: headers)) } ?? .requestLost
        }
        try await bench.run { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            for expected in 1...20 {
                guard case .paused(let pause) = await transmitter.pass() else { Issue.record("not paused"); return }
                #expect(pause <= .seconds(86_400))
                #expect(tries.withLock { $0 } >= expected)
                bench.clock.advance(by: pause)
            }
            bench.collector.setFaults { _, _ in nil }
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored() == [1])
        }
    }
}

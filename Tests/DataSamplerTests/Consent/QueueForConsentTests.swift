import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// Consent over a real queue: what is kept, moved, deleted and refused is in its balance.
@Suite struct QueueForConsentTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func event(_ name: String) -> NewRecord {
        NewRecord(stream: .event, kind: .event, stamp: ManualRecordClock().now(), body: Data(name.utf8))
    }

    @Test func `The balance closes while consent is pending and after each decision`() async throws {
        for consent in [DataSamplerConsent.granted, .denied] {
            let directory = try TemporaryDirectory()
            let queue = try RecordQueue.open(
                directory: directory.path, configuration: .init(), clock: ManualRecordClock(), logger: quiet)
            let keeper = try ConsentKeeper(
                store: ConsentStore(directory: directory.path), queue: QueueForConsent(queue: queue), initial: .pending,
                logger: quiet)
            func record(_ name: String) async throws(DataSamplerError) {
                _ = try await keeper.admit(to: .event) { () async throws(DataSamplerError) in
                    do throws(QueueError) { return try await queue.enqueueDurably(Self.event(name)) } catch {
                        throw DataSamplerError(error)
                    }
                }
            }
            for name in ["1", "2", "3"] { try await record(name) }
            let pending = try #require(try await queue.balance()[.event])
            #expect(pending.produced == 3 && pending.waiting == 3)
            try await keeper.set(consent, wallTime: 1)
            let decided = try #require(try await queue.balance()[.event])
            #expect(decided.produced == 3)
            #expect(decided.waiting == (consent == .granted ? 3 : 0))
            if consent == .denied {
                #expect(
                    await SamplerBench.code { () async throws(DataSamplerError) in try await record("4") }
                        == .consentDenied)
                try await queue.flush()
                let refused = try #require(try await queue.balance()[.event])
                #expect(refused.produced == 4 && refused.waiting == 0)
                #expect(try await queue.status().streams[.event]?.dropped[.consent] == 4)
            } else {
                let sent = try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 10, hold: .zero)
                #expect(sent?.records.count == 3)
            }
            await queue.close()
        }
    }
}

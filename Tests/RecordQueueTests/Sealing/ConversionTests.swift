import DeviceTestKit
import DeviceTunables
import Foundation
import SQLite
import Testing
import TestKit
import WireModel

@testable import RecordQueue

/// Switching to sealed records and back, killed at every commit, and what is left of plain texts.
@Suite("Conversion of the queue")
struct ConversionTests {
    private let fixture: QueueFixture
    private let keys: QueueKeys
    private static let planted = Data("PLANTED-TEXT-OF-A-RECORD".utf8)

    init() throws {
        fixture = try QueueFixture()
        keys = try QueueKeys(fixture)
    }

    private func record(_ stream: StreamName, _ number: Int) -> NewRecord {
        let body = Self.planted + Data("-\(number)-".utf8) + Data(repeating: 7, count: number % 200)
        return NewRecord(
            stream: stream, kind: stream == .event ? .event : .sampleSystem, stamp: fixture.clock.now(), body: body)
    }

    private func configuration(isSealing: Bool) -> RecordQueue.Configuration {
        QueueFixture.sealed(keys.ring(), isSealing: isSealing)
    }

    private func store(_ configuration: RecordQueue.Configuration, in subdirectory: String = "/q") throws -> QueueStore
    {
        try FileManager.default.createDirectory(
            atPath: fixture.directory + subdirectory, withIntermediateDirectories: true)
        return try QueueStore(
            directory: fixture.directory + subdirectory, configuration: configuration, clock: fixture.clock,
            logger: fixture.logger)
    }

    /// Records in two streams, a gap, a mark, a quarantined record and a kept damaged file.
    private func fill(_ store: QueueStore, _ collector: inout ModelCollector) throws {
        for start in stride(from: 0, to: 3000, by: 1000) {
            _ = try store.append((start..<start + 1000).map { record($0.isMultiple(of: 3) ? .event : .sample, $0) })
        }
        let part = try #require(
            try store.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(try store.apply(collector.post(part)) == .remove)
        _ = try store.drop(oldest: 10, bytes: .max, of: .event, reason: .byteCap, keepAside: false)
        _ = try store.drop(oldest: 1, bytes: .max, of: .event, reason: .quarantined, keepAside: true)
        try store.settle()
    }

    /// The plain texts and links that must not be found.
    private func secrets(_ store: QueueStore) throws -> [Data] {
        var secrets = [Self.planted]
        for stream in [StreamName.event, .sample] {
            for link in [state(store, stream).lastLink, state(store, stream).mark.link] where link != .zero {
                secrets.append(link.data)
                secrets.append(Data(link.description.utf8))
            }
            for gap in state(store, stream).gaps { secrets.append(gap.link.data) }
        }
        return secrets
    }

    private func state(_ store: QueueStore, _ stream: StreamName) -> StreamLedger { store.state[stream] }

    private func expectNone(of secrets: [Data], _ comment: Comment) throws {
        for (name, bytes) in try fixture.allBytes(of: "/q") {
            for secret in secrets { #expect(bytes.range(of: secret) == nil, "\(comment): \(name)") }
        }
    }

    @Test func `Nothing of a record is found in the files of a sealed queue`() async throws {
        let queue = try fixture.open("/q", configuration(isSealing: true))
        for number in 1...200 { try queue.enqueue(record(.event, number)) }
        try await queue.flush()
        let secrets = try await queue.run { try self.secrets($0) }
        #expect(secrets.count > 1)
        try expectNone(of: secrets, "while it is open")
        await queue.close()
        try expectNone(of: secrets, "after it was closed")
    }

    @Test func `After the switch no free page, frame, marker or kept file has a plain text`() async throws {
        let directory = fixture.directory + "/q"
        try FileManager.default.createDirectory(
            atPath: "\(directory)/queue.corrupt-1-20260101T000000Z", withIntermediateDirectories: true)
        try Self.planted.write(
            to: URL(fileURLWithPath: "\(directory)/queue.corrupt-1-20260101T000000Z/queue.sqlite"))
        var collector = ModelCollector()
        let plain = try store(QueueFixture.configuration())
        try fill(plain, &collector)
        let secrets = try secrets(plain)
        try plain.close()
        #expect(try fixture.allBytes(of: "/q").values.contains { $0.range(of: Self.planted) != nil })

        let sealed = try store(configuration(isSealing: true))
        #expect(sealed.conversion.isDue)
        while try sealed.convertSome() {}
        #expect(!sealed.conversion.isDue)
        try expectNone(of: secrets, "after the conversion")
        #expect(try sealed.verify().findings == [])
        try sealed.close()
        let again = try store(configuration(isSealing: true))
        #expect(!again.conversion.isDue, "once")
        try again.close()
        let queue = try fixture.open("/q", configuration(isSealing: true))
        _ = try await collector.drain(queue)
        #expect(collector.stored[.event]?.count == 989 && collector.stored[.sample]?.count == 2000)
        await queue.close()
    }

    private struct Killed: Error {}

    /// A killed process leaves the files as they are after a commit.
    @Test(arguments: [true, false])
    func `Killed after any commit of a switch, the queue has every record and goes on with it`(
        _ toSealed: Bool
    ) async throws {
        var collector = ModelCollector()
        var first = try store(toSealed ? QueueFixture.configuration() : configuration(isSealing: true))
        try fill(first, &collector)
        try first.close()
        let epoch = first.state.epoch
        var steps: Set<Conversion.Step> = []
        // Each opening is killed at its next step that was not reached before, or at the second one of rows.
        for _ in 0..<20 {
            first = try store(configuration(isSealing: toSealed))
            #expect(first.state.epoch == epoch)
            var rows = 0
            var killedAt: Conversion.Step?
            first.reached = { step in
                if step == .rows { rows += 1 }
                if killedAt == nil, step == .rows ? rows == 2 && !steps.contains(.rows) : !steps.contains(step) {
                    killedAt = step
                    // What is on disk now is what a kill leaves.
                    try? FileManager.default.removeItem(atPath: self.fixture.directory + "/killed")
                    try? FileManager.default.copyItem(
                        atPath: self.fixture.directory + "/q", toPath: self.fixture.directory + "/killed")
                }
            }
            while try first.convertSome() {}
            try first.abandon()
            guard let killedAt else { break }
            steps.insert(killedAt)
            try FileManager.default.removeItem(atPath: fixture.directory + "/q")
            try FileManager.default.moveItem(
                atPath: fixture.directory + "/killed", toPath: fixture.directory + "/q")
            let whole = try store(configuration(isSealing: toSealed))
            #expect(try whole.verify().findings == [], "killed at \(killedAt)")
            #expect(whole.conversion.isDue == (killedAt != .finished))
            try whole.abandon()
        }
        #expect(steps == Set(Conversion.Step.allCases))
        let last = try store(configuration(isSealing: toSealed))
        let keyIDs = try last.namedByRows()
        #expect(toSealed ? keyIDs.count == 1 : keyIDs.isEmpty)
        let links = try last.namedByLinks()
        #expect(toSealed || links.isEmpty)
        try last.close()
        // Plain again, the queue needs no keys.
        let queue = try fixture.open("/q", toSealed ? configuration(isSealing: true) : QueueFixture.configuration())
        _ = try await collector.drain(queue)
        #expect(collector.stored[.event]?.count == 989 && collector.stored[.sample]?.count == 2000)
        for (stream, balance) in try await queue.balance() { #expect(balance.closes, "\(stream): \(balance)") }
        await queue.close()
    }

    @Test func `While a switch is under way both forms are sent in one part`() throws {
        var collector = ModelCollector()
        let plain = try store(QueueFixture.configuration())
        try fill(plain, &collector)
        try plain.close()
        let mixed = try store(configuration(isSealing: true))
        #expect(try mixed.convertSome())
        _ = try mixed.append([record(.event, 1)])
        let part = try #require(
            try mixed.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 10_000, hold: .zero))
        #expect(part.records.count == 990)
        #expect(collector.post(part).outcome == .stored)
        try mixed.close()
    }

    @Test func `Plain records after a time without keys are found by the next switch`() throws {
        let sealed = try store(configuration(isSealing: true))
        #expect(!sealed.conversion.isDue, "a new queue has nothing to convert")
        try sealed.close()
        let plain = try store(QueueFixture.configuration())
        _ = try plain.append([record(.event, 1)])
        try plain.close()
        let again = try store(configuration(isSealing: true))
        #expect(again.conversion.isDue)
        while try again.convertSome() {}
        try expectNone(of: [Self.planted], "after the conversion")
        try again.close()
    }
}

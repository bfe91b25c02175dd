import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import RecordStore
import StoreTestKit
import Synchronization
import WireModel
@testable import Transmitter

/// A queue on disk, a collector without a network, and transmitters between them, with clocks that stand still.
final class TransmitterBench: Sendable {
    let directory = FileManager.default.temporaryDirectory.appending(path: "transmitter-\(UUID())")
    let clock = ManualRecordClock()
    let store = InMemoryRecordStore()
    let collector: LoopbackCollector
    let conditions = SetConditions()
    let events = RecordingEvents()
    let sleeper = ManualSleeper()

    init() { collector = LoopbackCollector(store: store) }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Opens the queue, gives it to the body with a transmitter of its own, and closes it: one life of a program.
    func run(
        enrollments: any EnrollmentStore = InMemoryEnrollmentStore(token: "enrollment-token"),
        settings: TransmitterSettings? = nil,
        partBytes: Int = WireLimits.partBytes, hold: Duration = .zero, in directory: URL? = nil,
        transport: (any Transport)? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (RecordQueue, Transmitter) async throws -> Void
    ) async throws {
        var configuration = RecordQueue.Configuration()
        configuration.keepFreeBytes = 0
        let queue = try RecordQueue.open(
            directory: (directory ?? self.directory).path, configuration: configuration, clock: clock, logger: logger)
        let transmitter = Transmitter(
            queue: queue, transport: transport ?? collector, enrollments: enrollments,
            settings: settings ?? TransmitterSettings(eventHold: hold), partBytes: partBytes, agentVersion: "test/1",
            conditions: conditions, events: events.sink, clock: clock, sleeper: sleeper, roll: { 1 }, logger: logger)
        do {
            try await body(queue, transmitter)
        } catch {
            await queue.close()
            throw error
        }
        await queue.close()
    }

    func enqueue(_ count: Int, _ stream: StreamName = .event, bytes: Int = 10, to queue: RecordQueue) async throws {
        for number in 0..<count {
            try queue.enqueue(
                NewRecord(
                    stream: stream, kind: .event, stamp: clock.now(),
                    body: Data(repeating: UInt8(truncatingIfNeeded: number), count: bytes)
                ))
        }
        try await queue.flush()
    }

    /// Numbers stored of a device, in the order of receipt.
    func stored(_ stream: StreamName = .event, of device: DeviceID? = nil) async throws -> [UInt64] {
        try await records(stream, of: device).map(\.header.number).reversed()
    }

    /// Bodies stored of a device, in no particular order.
    func bodies(_ stream: StreamName = .event, of device: DeviceID? = nil) async throws -> [String] {
        try await records(stream, of: device).map { String(decoding: $0.header.body(of: $0.bytes), as: UTF8.self) }
    }

    /// All records stored of a device, newest first.
    private func records(_ stream: StreamName, of device: DeviceID?) async throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        var next: String?
        repeat {
            let page = try await store.records(
                of: device ?? collector.device, stream: stream, kind: nil, module: nil, before: next, limit: 1000)
            records += page.records
            next = page.next
        } while next != nil
        return records
    }
}

/// Keeps what was reported.
final class RecordingEvents: Sendable {
    private let heard = Mutex<[TransmitterEvent]>([])

    var all: [TransmitterEvent] { heard.withLock { $0 } }
    var news: [CollectorNews] { all.compactMap { if case .heard(let news) = $0 { news } else { nil } } }
    var sink: EventSink<TransmitterEvent> { EventSink { event in self.heard.withLock { $0.append(event) } } }
}

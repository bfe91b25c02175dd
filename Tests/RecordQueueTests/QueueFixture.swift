import Foundation
import Logging
import TelemetryTestKit
import WireModel

@testable import RecordQueue

/// A directory that goes with the fixture, a clock by hand, and records.
final class QueueFixture: Sendable {
    let directory: String
    let clock = ManualRecordClock()
    let logger = Logger(label: "queue-tests") { _ in SwiftLogNoOpLogHandler() }

    init(in parent: String = FileManager.default.temporaryDirectory.path) throws {
        directory = "\(parent)/record-queue-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    var database: String { "\(directory)/queue.sqlite" }

    static func configuration(_ change: (inout RecordQueue.Configuration) -> Void = { _ in }) -> RecordQueue.Configuration {
        var configuration = RecordQueue.Configuration()
        configuration.keepFreeBytes = 0
        configuration.keepFreeInodesPercent = 0
        configuration.lossWindow = .seconds(60)
        change(&configuration)
        return configuration
    }

    func open(
        _ subdirectory: String = "", _ configuration: RecordQueue.Configuration = configuration()
    ) throws(QueueError) -> RecordQueue {
        try RecordQueue.open(directory: directory + subdirectory, configuration: configuration, clock: clock, logger: logger)
    }

    /// The store alone, without writer and buffer.
    func store(_ configuration: RecordQueue.Configuration = configuration()) throws -> QueueStore {
        try QueueStore(directory: directory, configuration: configuration, clock: clock, logger: logger)
    }

    func record(_ stream: StreamName = .sample, bytes: Int = 100, byte: UInt8 = 7) -> NewRecord {
        let kind: WireRecordKind =
            switch stream {
            case .status: .beacon
            case .event: .event
            case .sample: .sampleSystem
            }
        return NewRecord(stream: stream, kind: kind, stamp: clock.now(), body: Data(repeating: byte, count: bytes))
    }
}

/// A collector in memory that decides as the real one does.
struct ModelCollector {
    var marks: [StreamName: StreamMark] = [:]
    var stored: [StreamName: [Data]] = [:]

    mutating func post(_ part: BatchPart) -> PartAnswer {
        let mark = marks[part.stream] ?? .none
        switch PartDecision.decide(part: part, mark: mark) {
        case .damaged(let why):
            return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .damaged, mark: mark, detail: why)
        case .identityConflict:
            return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .identityConflict, mark: mark)
        case .already:
            return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .already, mark: mark)
        case .store(let slice):
            marks[part.stream] = slice.mark
            stored[part.stream, default: []] += slice.records.filter { $0.rejection == nil }.map(\.bytes)
            return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .stored, mark: slice.mark)
        }
    }

    /// Sends all that is there; every part has to be taken.
    /// - Returns: how many parts were sent.
    mutating func drain(_ queue: RecordQueue, maximumBytes: Int = WireLimits.partBytes) async throws -> Int {
        var parts = 0
        for stream in StreamName.allCases {
            while let part = try await queue.nextPart(of: stream, maximumBytes: maximumBytes, maximumRecords: 10_000, hold: .zero) {
                let answer = post(part)
                guard answer.outcome == .stored || answer.outcome == .already else { throw Refused(answer: answer) }
                guard try await queue.apply(answer) == .remove else { throw Refused(answer: answer) }
                parts += 1
            }
        }
        return parts
    }

    struct Refused: Error { var answer: PartAnswer }
}

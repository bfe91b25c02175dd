import DeviceTestKit
import Foundation
import Logging
import SQLite
import WireModel

@testable import RecordQueue

/// A directory that goes with the fixture, a clock by hand, and records.
final class QueueFixture: Sendable {
    let directory: String
    let clock = ManualRecordClock()
    let logger = Logger(label: "queue-tests") { _ in SwiftLogNoOpLogHandler() }

    /// In memory where there is such a place: a kill is a copy of the files here, so the medium does not matter and its
    /// syncs only take time.
    static let scratch =
        FileManager.default.isWritableFile(atPath: "/dev/shm")
        ? "/dev/shm" : FileManager.default.temporaryDirectory.path

    init(in parent: String = scratch) throws {
        directory = "\(parent)/record-queue-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    var database: String { "\(directory)/queue.sqlite" }

    static func configuration(_ change: (inout RecordQueue.Configuration) -> Void = { _ in })
        -> RecordQueue.Configuration
    {
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
        try RecordQueue.open(
            directory: directory + subdirectory, configuration: configuration, clock: clock, logger: logger)
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

/// A collector in memory that decides as the real one does, over any number of epochs.
struct ModelCollector {
    struct Key: Hashable {
        var epoch: EpochID
        var stream: StreamName
    }

    /// One stream of one epoch.
    struct History {
        var mark = StreamMark.none
        var records: [Data] = []
        /// Where a number has a link.
        var links: [UInt64: ChainLink] = [:]
        var closed: (last: UInt64, reason: DropReason)?
        /// The totals of the newest close.
        var lastTotals = StreamTotals()
    }

    var histories: [Key: History] = [:]
    /// Epochs of which records came, in that order.
    private var epochs: [EpochID] = []
    /// Numbers up to here are removed by retention: what could show it is gone.
    var removedUpTo: UInt64 = 0

    /// The records in the order of their epochs and numbers.
    var stored: [StreamName: [Data]] {
        epochs.reduce(into: [:]) { stored, epoch in
            for stream in StreamName.allCases {
                guard let history = histories[Key(epoch: epoch, stream: stream)] else { continue }
                stored[stream, default: []] += history.records
            }
        }
    }

    mutating func post(_ part: BatchPart) -> PartAnswer {
        let key = Key(epoch: part.epoch, stream: part.stream)
        if !epochs.contains(part.epoch) { epochs.append(part.epoch) }
        var history = histories[key] ?? History()
        defer { histories[key] = history }
        func answer(_ outcome: PartOutcome, _ detail: String = "") -> PartAnswer {
            PartAnswer(epoch: part.epoch, stream: part.stream, outcome: outcome, mark: history.mark, detail: detail)
        }
        if history.closed != nil { return answer(.closed) }
        switch PartDecision.decide(part: part, mark: history.mark) {
        case .damaged(let why): return answer(.damaged, why)
        case .identityConflict: return answer(.identityConflict)
        case .already: return answer(.already)
        case .store(let slice):
            var link = slice.priorLink
            for gap in slice.gaps {
                link = gap.link
                history.links[gap.last] = link
            }
            for record in slice.records {
                link = link.appending(record.bytes)
                history.links[record.number] = link
            }
            history.mark = slice.mark
            history.records += slice.records.filter { $0.rejection == nil }.map(\.bytes)
            return answer(.stored)
        }
    }

    /// Closes an epoch, as the collector does.
    mutating func close(_ request: WireCloseRequest) throws -> WireCloseAnswer {
        var answer = WireCloseAnswer()
        answer.epoch = request.epoch
        guard request.streams.count == 3, let epoch = EpochID(request.epoch) else { throw Malformed() }
        for wire in request.streams {
            guard let stream = StreamName(rawValue: wire.stream.rawValue), wire.points.count <= 1024 else {
                throw Malformed()
            }
            let key = Key(epoch: epoch, stream: stream)
            var history = histories[key] ?? History()
            history.closed = history.closed ?? (wire.last, DropReason(rawValue: wire.reason.rawValue))
            history.lastTotals = StreamTotals(wire.totals)
            histories[key] = history
            var closed = WireClosedStream()
            closed.stream = wire.stream
            closed.mark = history.mark.wire
            var couldNotTell = false
            for point in wire.points.sorted(by: { $0.number > $1.number }) where point.number <= history.mark.number {
                let link = point.number == history.mark.number ? history.mark.link : history.links[point.number]
                if point.number < removedUpTo {
                    couldNotTell = true
                } else if link?.data == point.link {
                    closed.matched = point
                    break
                }
            }
            closed.unknown = couldNotTell && !closed.hasMatched
            answer.streams.append(closed)
        }
        return answer
    }

    struct Malformed: Error {}

    /// Closes what is to be closed.
    /// - Returns: how many requests it needed.
    mutating func closeAll(_ queue: RecordQueue) async throws -> Int {
        var requests = 0
        while let request = try await queue.nextClose() {
            requests += 1
            guard requests < 200 else { throw Malformed() }
            if try await queue.applyClose(try close(request)) == .settled { break }
        }
        return requests
    }

    /// Numbered by the device, summed over all epochs.
    func produced(_ stream: StreamName) -> UInt64 {
        histories.reduce(0) {
            $1.key.stream == stream ? $0 + max($1.value.mark.number, $1.value.closed?.last ?? 0) : $0
        }
    }

    /// Sends all that is there; every part has to be accepted.
    /// - Returns: how many parts were sent.
    mutating func drain(_ queue: RecordQueue, maximumBytes: Int = WireLimits.partBytes) async throws -> Int {
        var parts = 0
        var former = -1
        while former != parts {
            former = parts
            for stream in StreamName.allCases {
                while let part = try await queue.nextPart(
                    of: stream, maximumBytes: maximumBytes, maximumRecords: 10_000, hold: .zero)
                {
                    let answer = post(part)
                    guard answer.outcome == .stored || answer.outcome == .already else { throw Refused(answer: answer) }
                    let decision = try await queue.apply(answer)
                    // A file that turned out to be corrupt was replaced meanwhile.
                    if queue.epoch != part.epoch {
                        _ = try await closeAll(queue)
                    } else if decision != .remove {
                        throw Refused(answer: answer)
                    }
                    parts += 1
                }
            }
        }
        return parts
    }

    struct Refused: Error { var answer: PartAnswer }
}

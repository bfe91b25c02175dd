import Foundation
import LogArchive
import RecordStore
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// Random histories of produce, drop, send, lose, repeat, reorder and answer against a reference of a few lines: the
/// store's marks and counts are the model's after every part, and its rows are what the model has.
@Suite struct CollectorModelTests {
    /// The rules of the wire protocol, with reasons.
    private struct Model {
        var number: UInt64 = 0
        var link = ChainLink.zero
        var stored: UInt64 = 0
        var dropped: UInt64 = 0
        var lost: UInt64 = 0
        var rows: [UInt64] = []
        /// The links the history has gone through; none inside gaps and lost ranges.
        var history: [UInt64: ChainLink] = [0: .zero]

        /// - Returns: whether the histories have diverged.
        mutating func post(_ part: BatchPart, made: [UInt64: Data]) -> Bool {
            var running = part.priorLink
            var at = [part.first - 1: running]
            var markInGap = false
            var position = part.first - 1
            var records = part.records[...]
            var gaps = part.gaps[...]
            while position < part.last {
                if let gap = gaps.first, gap.first == position + 1 {
                    gaps.removeFirst()
                    (running, position) = (gap.link, gap.last)
                    markInGap = markInGap || (gap.first <= number && number < gap.last)
                } else {
                    running = running.appending(records.removeFirst())
                    position += 1
                }
                at[position] = running
            }
            let meets = part.first - 1 <= number && number <= part.last && !markInGap
            if meets, at[number] != link { return true }
            guard part.last > number else { return false }
            lost += part.first - 1 > number ? part.first - 1 - number : 0
            var inGap: Set<UInt64> = []
            for gap in part.gaps { for number in gap.first...gap.last { inGap.insert(number) } }
            for (place, link) in at where place > number && place >= part.first { history[place] = link }
            for place in max(part.first, number + 1)...part.last {
                if inGap.contains(place) { dropped += 1 } else { (stored, _) = (stored + 1, rows.append(place)) }
            }
            (number, link) = (part.last, part.lastLink)
            return false
        }
    }

    @Test(arguments: [false, true], [false, true]) func `Marks, counts and rows are the model's`(
        restore: Bool, packs: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        var store = try SQLiteRecordStore.open(directory, clock: clock)
        var generator = SplitMix64(seed: restore ? 7 : 3)
        var closures = 0
        for history in 0..<12 {
            var device = ScriptedDevice()
            var model = Model()
            var network: [BatchPart] = []
            var answers: [PartAnswer] = []
            var image: ScriptedDevice?
            var diverged = false
            for step in 0..<120 where !diverged {
                if restore, step == 40 { image = device }
                if restore, step == 80, let old = image {
                    device = old
                    answers = []
                }
                let action = Double.random(in: 0..<1, using: &generator)
                switch action {
                case ..<0.4:
                    device.produce(
                        .random(in: 1...5, using: &generator), bodyBytes: .random(in: 1...60, using: &generator))
                case ..<0.46:
                    device.dropOldest(
                        .random(in: 1...6, using: &generator),
                        reason: [.byteCap, .ageCap].randomElement(using: &generator) ?? .byteCap)
                case ..<0.66:
                    if let part = device.part(.random(in: 1...30, using: &generator)) {
                        network += Array(repeating: part, count: Bool.random(using: &generator) ? 2 : 1)
                    }
                case ..<0.88:
                    guard !network.isEmpty else { continue }
                    let part = network.remove(at: .random(in: network.indices, using: &generator))
                    let answer = await store.append(part, from: device.device)
                    let conflict = model.post(part, made: device.made)
                    #expect((answer.outcome == .identityConflict) == conflict)
                    #expect(
                        answer.mark.number == model.number && answer.mark.link == model.link
                            && answer.mark.stored == model.stored)
                    #expect(answer.mark.droppedCount == model.dropped && answer.mark.lostAtCollector == model.lost)
                    if Double.random(in: 0..<1, using: &generator) < 0.7 { answers.append(answer) }
                    #expect(restore || !conflict)
                default:
                    guard !answers.isEmpty else { continue }
                    if case .diverged = device.apply(
                        answers.remove(at: .random(in: answers.indices, using: &generator)))
                    {
                        diverged = true
                    }
                    #expect(restore || !diverged)
                }
                if step == 60, history.isMultiple(of: 3) { clock.advance(days: 1) }
                if packs, step.isMultiple(of: 7) { try await store.packAll() }
                if step == 90, history.isMultiple(of: 4) {
                    await store.shutDown()
                    store = try SQLiteRecordStore.open(directory, clock: clock)
                }
            }
            if diverged {
                // Every number of the device is a point: the answer is the greatest that both have the same way to.
                let points = device.links.map { EpochClose.Point(number: $0.key, link: $0.value) }
                let closed = try await store.close(
                    EpochClose(
                        epoch: device.epoch,
                        streams: [.init(stream: .sample, last: device.last, reason: .moved, points: points)]),
                    from: device.device)
                let greatest = device.links.filter { model.history[$0.key] == $0.value }.keys.max() ?? 0
                #expect(closed.first?.match == .point(.init(number: greatest, link: device.links[greatest] ?? .zero)))
                closures += 1
            }
            let balance = try await store.balance(of: device.device)
            #expect(balance.allSatisfy { $0.balance.closes && $0.storedRows == model.stored })
            let numbers = try await store.allRecords(of: device.device, stream: .sample, pageSize: 50).map(
                \.header.number)
            #expect(numbers == Array(model.rows.reversed()))
        }
        await store.shutDown()
        #expect(closures > 0 || !restore)
        let report = try await directory.verify()
        #expect(report.isWhole, "\(report.findings)")
    }
}

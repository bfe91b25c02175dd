import DeviceTestKit
import Foundation
import RecordQueue
import StoreTestKit
import TestKit
import WireModel

/// Images, ends and closes.
extension EpochHistory {
    func takeImage() async throws {
        // An image with an epoch that is not closed yet may move what another branch has moved and sent already.
        guard image == nil, !device.queue.hasEpochToClose else { return }
        try await flush()
        image = Image(directory: try device.image(), lines: lines)
    }

    /// The image replaces the queue: what came after it is known to the collector alone, so far as it arrived.
    func bringBack() async throws {
        guard let image else { return }
        self.image = nil
        for (stream, balance) in try await device.queue.balance() {
            abandoned[stream, default: [:]].merge(balance.dropped, uniquingKeysWith: +)
        }
        try await device.restore(image.directory)
        for (stream, line) in lines {
            droppedElsewhere[stream]?.formUnion(line.dropped.subtracting(image.lines[stream]?.dropped ?? []))
        }
        lines = image.lines
        network.disconnect()
        (isRestored, wasRestored) = (true, true)
        // Often it is given up before it was compared with the collector.
        if random.chance(0.3) {
            for stream in StreamName.allCases where random.chance(0.7) { try produce(stream) }
            try await giveUp()
        }
    }

    func giveUp() async throws {
        try await end([.wiped, .unenrolled, .reboundDrop].randomElement(using: &random) ?? .wiped)
    }

    func end(_ end: EpochEnd) async throws {
        try await flush()
        if end == .restored {
            clock.advance(by: .seconds(3600))
        } else {
            for (stream, line) in lines {
                excused[stream]?.formUnion(line.certain)
                if isRestored { mayBeUncounted.formUnion(line.droppedInEpoch) }
            }
            if isRestored { seen.givenUpRestored += 1 }
            for epoch in try await device.queue.status().ended where !epoch.isClosed && epoch.end == .restored {
                givenUp.insert(epoch.epoch)
            }
        }
        try await device.queue.endEpoch(end)
        for stream in StreamName.allCases {
            lines[stream]?.droppedInEpoch = []
        }
        seen.ends[end, default: 0] += 1
        isRestored = false
        network.disconnect()
        // An image from before the end would begin the same epoch again, which was closed under another branch.
        if let image { try FileManager.default.removeItem(at: image.directory) }
        image = nil
        if random.chance(0.2) { try await crashDevice() }
    }

    /// One exchange about an ended epoch.
    /// - Returns: whether there is more.
    @discardableResult
    func close(losing: Bool) async throws -> Bool {
        try await flush()
        guard brokenRule != .neverCloses, var request = try await device.queue.nextClose() else { return false }
        if losing, random.chance(0.1) { return true }
        brokenRule?.falsify(&request, isGivenUp: EpochID(request.epoch).map(givenUp.contains) ?? false)
        var answer = try await collector.store.store.answer(request, from: collector.device)
        if losing, random.chance(0.2) {
            // Often what was to be moved is given up then.
            if random.chance(0.3) {
                if request.streams.contains(where: { $0.reason == .moved }) { seen.givenUpAfterClose += 1 }
                try await giveUp()
            }
            return true
        }
        if losing, random.chance(0.1) {
            try await crashDevice()
            return true
        }
        brokenRule?.falsify(&answer, to: request)
        return try await device.queue.applyClose(answer) == .again
    }

    /// The queue is copied to another machine, which enrolls as itself. It has nothing of the original's, and the
    /// original misses nothing.
    func clone() async throws {
        try await flush()
        let directory = try device.image()
        defer { try? FileManager.default.removeItem(at: directory) }
        let clone = try device.openElsewhere(directory)
        let other = JudgedCollector(store: collector.store, device: .random(using: &random), reference: nil)
        try await clone.endEpoch(.clone)
        seen.ends[.clone, default: 0] += 1
        while let request = try await clone.nextClose() {
            if try await clone.applyClose(other.store.store.answer(request, from: other.device)) == .settled { break }
        }
        let inherited = try await clone.balance()
        for stream in StreamName.allCases {
            let (identity, record) = mint.record(stream, stamp: clock.now(), using: &random)
            _ = try await clone.enqueueDurably(record)
            try await Self.drain(clone, stream, to: other)
            guard try await other.stored(stream).map(\.identity) == [identity] else {
                throw Violation("\(stream): a clone sent what it inherited")
            }
        }
        let collected = try await other.balances(beside: clone)
        for (stream, balance) in try await clone.balance() {
            let dropped = collected[stream]?.dropped["clone"] ?? 0
            guard balance.waiting == 0, balance.stored == 1 + (inherited[stream]?.stored ?? 0),
                balance.dropped["clone"] ?? 0 == dropped
            else { throw Violation("\(stream): the clone has \(balance), its collector \(dropped) dropped as clone") }
        }
        await clone.close()
    }

    private static func drain(_ queue: RecordQueue, _ stream: StreamName, to collector: JudgedCollector) async throws {
        var rounds = 0
        while let part = try await queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 40, hold: .zero) {
            rounds += 1
            guard rounds < 10_000 else { throw Violation("\(stream): no progress over a network that works") }
            _ = try await queue.apply(collector.append(part))
        }
    }
}

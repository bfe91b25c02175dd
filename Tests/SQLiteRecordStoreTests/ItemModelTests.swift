import Foundation
import RecordStore
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// Random requests that are sent again, split, reordered and sent at once, over days, restarts and kills, against a
/// model of a few lines.
@Suite struct ItemModelTests {
    /// An item that a sender may put into any number of requests.
    private struct Known: Sendable {
        var name: String
        var item: UnnumberedItems.Item
        var context: String
    }

    @Test(arguments: 0..<6) func `Every item with a key is there once, and every other as often as it was taken`(
        _ seed: UInt64
    ) async throws {
        var directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        var store = try SQLiteRecordStore.open(directory, clock: clock)
        var generator = SplitMix64(seed: seed)
        let senders = [ItemSender(), ItemSender(), ItemSender()]
        var items: [[Known]] = [[], [], []]
        var sent: [Set<String>] = [[], [], []]
        var unkeyed = [0, 0, 0]
        for round in 0..<60 {
            for (place, sender) in senders.enumerated() {
                for _ in 0..<Int.random(in: 0...6, using: &generator) {
                    let name = "\(place)-\(items[place].count)"
                    let number = UInt64(items[place].count)
                    let uid: String? =
                        switch Int.random(in: 0..<5, using: &generator) {
                        case 0: nil
                        case 1, 2:
                            ItemKey.uid(device: sender.device, epoch: sender.epoch, stream: .event, number: number)
                        default: name
                        }
                    items[place].append(
                        Known(
                            name: name, item: sender.item(name, uid: uid, at: clock.now()),
                            context: ["x", "y"].randomElement(using: &generator) ?? "x"))
                }
            }
            // Calls with stretches of all that there is, old and new, forwards and backwards, some of them at once.
            var calls: [[(place: Int, items: UnnumberedItems, names: [Known])]] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                var call: [(place: Int, items: UnnumberedItems, names: [Known])] = []
                for place in senders.indices where Bool.random(using: &generator) && !items[place].isEmpty {
                    let first = Int.random(in: items[place].indices, using: &generator)
                    let count = Int.random(in: 1...20, using: &generator)
                    var stretch = Array(items[place][first...].prefix(count))
                    if generator.chance(0.3) { stretch.shuffle(using: &generator) }
                    if generator.chance(0.2) { stretch += stretch.prefix(3) }
                    call.append((place, Self.request(of: senders[place], stretch, at: clock.now()), stretch))
                }
                calls.append(call)
            }
            let (current, time) = (store, clock.now())
            let answers = await withTaskGroup(of: (Int, [UnnumberedAnswer]).self) { group in
                for (place, call) in calls.enumerated() {
                    let entries = call.map(\.items)
                    group.addTask { (place, await current.append(entries, to: .event, receivedAt: time)) }
                }
                return await group.reduce(into: [Int: [UnnumberedAnswer]]()) { $0[$1.0] = $1.1 }
            }
            for (place, call) in calls.enumerated() {
                for (entry, answer) in zip(call, answers[place] ?? []) {
                    #expect(answer.outcome == .stored && answer.stored + answer.known == entry.names.count)
                    sent[entry.place].formUnion(entry.names.filter { $0.item.key != nil }.map(\.name))
                    unkeyed[entry.place] += entry.names.count { $0.item.key == nil }
                }
            }
            if round.isMultiple(of: 13) { clock.advance(days: 1) }
            switch Int.random(in: 0..<10, using: &generator) {
            case 0:
                await store.shutDown()
                store = try SQLiteRecordStore.open(directory, clock: clock)
            case 1:
                let (former, killed) = (store, directory)
                directory = try killed.copy()
                store = try SQLiteRecordStore.open(directory, clock: clock)
                await former.shutDown()
            default: break
            }
        }
        for (place, sender) in senders.enumerated() {
            let contexts = Dictionary(uniqueKeysWithValues: items[place].map { ($0.name, $0.context) })
            let keyed = Set(items[place].filter { $0.item.key != nil }.map(\.name))
            var found: [String: Int] = [:]
            for name in try await store.names(of: sender) where !name.hasPrefix("[") {
                let parts = name.split(separator: ":").map(String.init)
                #expect(contexts[parts[1]] == parts[0])
                found[parts[1], default: 0] += 1
            }
            #expect(Set(found.keys).intersection(keyed) == sent[place])
            #expect(found.filter { keyed.contains($0.key) }.allSatisfy { $0.value == 1 })
            #expect(found.filter { !keyed.contains($0.key) }.values.reduce(0, +) == unkeyed[place])
            #expect(sent[place].count > 20 && unkeyed[place] > 5, "the test has tried something")
        }
        await store.shutDown()
        let report = try await directory.verify()
        #expect(report.isWhole, "\(report.findings)")
    }

    /// A run for each change of the context.
    private static func request(of sender: ItemSender, _ items: [Known], at time: Int64) -> UnnumberedItems {
        var runs: [UnnumberedItems.Run] = []
        var last: String?
        for known in items {
            if known.context == last {
                runs[runs.count - 1].items.append(known.item)
            } else {
                runs.append(sender.run(known.context, items: [known.item], at: time))
            }
            last = known.context
        }
        return UnnumberedItems(device: sender.device, epoch: sender.epoch, runs: runs)
    }
}

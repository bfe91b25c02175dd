import Foundation
import RecordStore
import Testing
import WireModel

/// What holds of items that the store numbers: each is there with its context, and those with a key are there once.
extension RecordStoreConformance {
    static let itemChecks = [
        Check("numbers items and gives each its context") { try await $0.numbersItemsAndGivesEachItsContext() },
        Check("stores an item with a key once") { try await $0.storesAnItemWithAKeyOnce() },
        Check("stores an item without a key each time") { try await $0.storesAnItemWithoutAKeyEachTime() },
        Check("keys of one device are not those of another") { try await $0.keysOfOneDeviceAreNotThoseOfAnother() },
        Check("keys in a row are known in any split") { try await $0.keysInARowAreKnownInAnySplit() },
        Check("calls at once store a key once") { try await $0.callsAtOnceStoreAKeyOnce() },
        Check("a key survives a crash with its record") { try await $0.aKeySurvivesACrashWithItsRecord() },
        Check("a key is known until its day is dropped") { try await $0.aKeyIsKnownUntilItsDayIsDropped() },
        Check("a key is known under another incarnation") { try await $0.aKeyIsKnownUnderAnotherIncarnation() },
        Check("a long request keeps its contexts") { try await $0.aLongRequestKeepsItsContexts() },
        Check("refuses items that no store takes") { try await $0.refusesItemsThatNoStoreTakes() },
        Check("a full disk stores no item and no key") { try await $0.aFullDiskStoresNoItemAndNoKey() },
        Check("a backup holds keys") { try await $0.aBackupHoldsKeys() },
        Check("devices may not send what collectors make") { try await $0.devicesMayNotSendWhatCollectorsMake() },
        Check("metrics of a device have their own context") { try await $0.metricsOfADeviceHaveTheirOwnContext() },
    ]

    func numbersItemsAndGivesEachItsContext() async throws {
        let one = ItemSender()
        let two = ItemSender()
        let answers = await store.append(
            [one.items(one.run("a", ["1", "2"]), one.run("b", ["3"])), two.items(two.run("c", ["1"]))], to: .event,
            receivedAt: ManualStoreClock.start)
        #expect(answers == [UnnumberedAnswer(stored: 3, known: 0), UnnumberedAnswer(stored: 1, known: 0)])
        #expect(try await store.names(of: one) == ["[a]", "a:1", "a:2", "[b]", "b:3"])
        #expect(try await store.names(of: two) == ["[c]", "c:1"])
        let records = try await store.allRecords(of: one.device, stream: .event)
        #expect(records.map(\.header.number) == [5, 4, 3, 2, 1] && records.allSatisfy { $0.epoch == one.epoch })
        #expect(records.allSatisfy { $0.receivedAt == ManualStoreClock.start })
        // A query that leaves contexts out still finds them.
        let logs = RecordQuery(.one(one.device), stream: .event, kinds: [WireRecordKind.otlpLog.rawValue])
        let scanned = try await store.scan(logs, after: nil).records
        #expect(scanned.map { $0.context.map { String(decoding: $0, as: UTF8.self) } } == ["a", "a", "b"])
        let newest = try await store.newestRecords(of: [one.device], logs)
        #expect(newest[one.device]?.context == Data("b".utf8))
        let middle = try await store.records(logs, before: nil, limit: 1)
        let next = try await store.records(logs, before: middle.next, limit: 1).records
        #expect(next.map(\.context) == [Data("a".utf8)])
        let balance = try #require(try await store.balance(of: one.device).first)
        #expect(balance.storedRows == 5 && balance.balance.closes && balance.balance.produced == 5)
        #expect(balance.balance.waiting == 0 && balance.epoch == one.epoch)
        try await expectProven()
    }

    func storesAnItemWithAKeyOnce() async throws {
        let sender = ItemSender()
        let first = sender.items(sender.run("a", ["1", "2", "1"]), sender.run("b", ["3"]))
        #expect(await store.append(first, to: .event) == UnnumberedAnswer(stored: 3, known: 1))
        #expect(await store.append(first, to: .event) == UnnumberedAnswer(stored: 0, known: 4))
        let mixed = sender.items(sender.run("b", ["3"]), sender.run("a", ["4", "2"]))
        #expect(await store.append(mixed, to: .event) == UnnumberedAnswer(stored: 1, known: 2))
        #expect(try await store.names(of: sender) == ["[a]", "a:1", "a:2", "[b]", "b:3", "[a]", "a:4"])
        try await expectProven()
    }

    func storesAnItemWithoutAKeyEachTime() async throws {
        let sender = ItemSender(stream: .sample)
        let items = sender.items(sender.run("a", items: [sender.item("1", uid: nil), sender.item("2", uid: "2")]))
        #expect(await store.append(items, to: .sample) == UnnumberedAnswer(stored: 2, known: 0))
        #expect(await store.append(items, to: .sample) == UnnumberedAnswer(stored: 1, known: 1))
        #expect(try await store.names(of: sender) == ["[a]", "a:1", "a:2", "[a]", "a:1"])
        try await expectProven()
    }

    func keysOfOneDeviceAreNotThoseOfAnother() async throws {
        let one = ItemSender()
        let two = ItemSender()
        let samples = ItemSender(device: one.device, stream: .sample)
        for sender in [one, two, samples] {
            let answer = await store.append(sender.items(sender.run("a", ["1"])), to: sender.stream)
            #expect(answer == UnnumberedAnswer(stored: 1, known: 0))
        }
        try await expectProven()
    }

    func keysInARowAreKnownInAnySplit() async throws {
        let sender = ItemSender()
        let (device, epoch) = (DeviceID.random(), EpochID.random())
        func items(_ numbers: some Sequence<UInt64>) -> UnnumberedItems {
            let items = numbers.map { number in
                sender.item(
                    "\(number)", uid: ItemKey.uid(device: device, epoch: epoch, stream: .event, number: number))
            }
            return sender.items(sender.run("a", items: items))
        }
        #expect(await store.append(items(10...19), to: .event) == UnnumberedAnswer(stored: 10, known: 0))
        #expect(await store.append(items(30...39), to: .event) == UnnumberedAnswer(stored: 10, known: 0))
        #expect(await store.append(items(stride(from: 35, through: 5, by: -1)), to: .event).known == 16)
        #expect(await store.append(items([4, 5, 19, 20, 29, 39, 40]), to: .event).known == 5)
        #expect(await store.append(items(1...50), to: .event) == UnnumberedAnswer(stored: 13, known: 37))
        #expect(await store.append(items(1...50), to: .event) == UnnumberedAnswer(stored: 0, known: 50))
        let names = try await store.names(of: sender).filter { $0 != "[a]" }
        #expect(names.count == 50 && Set(names) == Set((1...50).map { "a:\($0)" }))
        try await expectProven()
    }

    /// Every item is in several of the calls.
    func callsAtOnceStoreAKeyOnce() async throws {
        let sender = ItemSender()
        let store = store
        let stored = await withTaskGroup(of: Int.self) { group in
            for call in 0..<20 {
                group.addTask {
                    let items = sender.items(sender.run("a", (call..<call + 10).map { "\($0)" }))
                    for _ in 0..<100 {
                        let answer = await store.append(items, to: .event)
                        if answer.outcome == .stored { return answer.stored }
                    }
                    return 0
                }
            }
            return await group.reduce(0, +)
        }
        let names = try await store.names(of: sender).filter { $0 != "[a]" }
        #expect(stored == 29 && names.count == 29 && Set(names) == Set((0..<29).map { "a:\($0)" }))
        try await expectProven()
    }

    func aKeySurvivesACrashWithItsRecord() async throws {
        let sender = ItemSender()
        let items = sender.items(sender.run("a", ["1", "2"]))
        #expect(await store.append(items, to: .event) == UnnumberedAnswer(stored: 2, known: 0))
        try await engine.crash()
        #expect(await store.append(items, to: .event) == UnnumberedAnswer(stored: 0, known: 2))
        try await engine.restart()
        #expect(await store.append(items, to: .event) == UnnumberedAnswer(stored: 0, known: 2))
        #expect(try await store.names(of: sender) == ["[a]", "a:1", "a:2"])
        try await expectProven()
    }

    func aKeyIsKnownUntilItsDayIsDropped() async throws {
        let sender = ItemSender()
        let old = sender.items(sender.run("a", ["old"]))
        #expect(await store.append(old, to: .event).stored == 1)
        for day in 1...4 {
            engine.clock.advance(days: 1)
            let time = engine.clock.now()
            let items = sender.items(sender.run("b", ["day \(day)"], at: time))
            #expect(await store.append(items, to: .event, receivedAt: time).stored == 1)
            #expect(await store.append(old, to: .event, receivedAt: time) == UnnumberedAnswer(stored: 0, known: 1))
        }
        let before = try await store.balance(of: sender.device)
        try await store.drop(try #require(try await store.partitions().kept.first).partition)
        try await store.reclaim()
        #expect(try await store.balance(of: sender.device) == before)
        #expect(await store.append(old, to: .event).stored == 1)
        #expect(await store.append(old, to: .event).known == 1)
        #expect(try await store.names(of: sender).filter { $0 == "a:old" }.count == 1)
        #expect(try await store.verify().isWhole)
    }

    func aKeyIsKnownUnderAnotherIncarnation() async throws {
        let sender = ItemSender()
        #expect(await store.append(sender.items(sender.run("a", ["1"])), to: .event).stored == 1)
        let restored = ItemSender(device: sender.device)
        let items = restored.items(restored.run("a", ["1", "2"]))
        #expect(await store.append(items, to: .event) == UnnumberedAnswer(stored: 1, known: 1))
        #expect(try await store.balance(of: sender.device).count == 2)
        try await expectProven()
    }

    /// More than fits into a slice.
    func aLongRequestKeepsItsContexts() async throws {
        let sender = ItemSender()
        let items = (0..<60).map { sender.item("\($0)", uid: "\($0)", padding: 200_000) }
        let runs = [sender.run("a", items: Array(items[..<45])), sender.run("b", items: Array(items[45...]))]
        let entry = UnnumberedItems(device: sender.device, epoch: sender.epoch, runs: runs)
        #expect(await store.append(entry, to: .event) == UnnumberedAnswer(stored: 60, known: 0))
        #expect(await store.append(entry, to: .event) == UnnumberedAnswer(stored: 0, known: 60))
        let names = try await store.names(of: sender).filter { !$0.hasPrefix("[") }
        #expect(names == (0..<60).map { "\($0 < 45 ? "a" : "b"):\($0)" })
        try await expectProven()
    }

    func refusesItemsThatNoStoreTakes() async throws {
        let sender = ItemSender()
        let good = sender.items(sender.run("a", ["1"]))
        let large = sender.items(
            sender.run("a", items: [sender.item("2", uid: "2", padding: WireLimits.recordBytes)]))
        let cases = [
            ("run", sender.items()), ("context and no item", sender.items(sender.run("a", [String]()))),
            ("bytes", large),
        ]
        for (word, entry) in cases {
            let answer = await store.append(entry, to: .event)
            #expect(answer.outcome == .refused && answer.detail.contains(word), "\(answer)")
        }
        #expect(await store.append(good, to: .sample).outcome == .refused)
        let twice = await store.append([good, good, large], to: .event, receivedAt: ManualStoreClock.start)
        #expect(twice.map(\.outcome) == [.stored, .refused, .refused] && twice[1].detail.contains("twice"))
        #expect(await store.append([], to: .event, receivedAt: 1).isEmpty)
        #expect(try await store.names(of: sender) == ["[a]", "a:1"])
        try await expectProven()
    }

    func aFullDiskStoresNoItemAndNoKey() async throws {
        let sender = ItemSender()
        #expect(await store.append(sender.items(sender.run("a", ["1"])), to: .event).stored == 1)
        guard try await engine.fillDisk() else { return }
        let items = (2..<60).map { sender.item("\($0)", uid: "\($0)", padding: 10_000) }
        let entry = sender.items(sender.run("a", items: items))
        let refused = await store.append(entry, to: .event)
        #expect(refused.outcome == .unavailable && refused.stored == 0 && !refused.detail.isEmpty)
        try await engine.freeDisk()
        #expect(await store.append(entry, to: .event) == UnnumberedAnswer(stored: 58, known: 0))
        #expect(await store.append(entry, to: .event) == UnnumberedAnswer(stored: 0, known: 58))
        try await expectProven()
    }

    func aBackupHoldsKeys() async throws {
        let sender = ItemSender()
        let items = sender.items(sender.run("a", ["1"]))
        #expect(await store.append(items, to: .event).stored == 1)
        guard let copy = try await engine.restored() else { return }
        #expect(await copy.append(items, to: .event) == UnnumberedAnswer(stored: 0, known: 1))
        #expect(try await copy.names(of: sender) == ["[a]", "a:1"])
        #expect(try await copy.verify().isWhole)
        await copy.shutDown()
    }

    func devicesMayNotSendWhatCollectorsMake() async throws {
        var device = ScriptedDevice(stream: .event)
        device.produce(1)
        for kind in [WireRecordKind.otlpContext, .otlpLog, .otlpMetrics] { device.produce(1, kind: kind) }
        device.produce(1)
        let answer = try #require(try await store.drain(&device))
        #expect(answer.outcome == .stored && answer.mark.number == 5 && answer.mark.stored == 2)
        #expect(answer.mark.rejected == [.policy: 3] && device.held.isEmpty)
        let records = try await store.allRecords(of: device.device, stream: .event)
        #expect(records.map(\.header.number) == [5, 1] && records.allSatisfy { $0.context == nil })
        try await expectProven()
    }

    func metricsOfADeviceHaveTheirOwnContext() async throws {
        var device = ScriptedDevice(stream: .sample)
        device.produce(1)
        for context in ["a", "b"] {
            let record = NewRecord(
                stream: .sample, kind: .otlpMetrics,
                stamp: RecordStamp(wallTime: 1_700_000_000_000_000, bootID: nil, timeSinceBoot: 1),
                context: Data(context.utf8), body: Data("points".utf8))
            device.append(record.serialized(number: device.last + 1))
        }
        // One of another kind with a context is still refused.
        let log = NewRecord(
            stream: .sample, kind: .otlpLog,
            stamp: RecordStamp(wallTime: 1_700_000_000_000_000, bootID: nil, timeSinceBoot: 1),
            context: Data("a".utf8), body: Data("log".utf8))
        device.append(log.serialized(number: device.last + 1))
        let answer = try #require(try await store.drain(&device))
        #expect(answer.outcome == .stored && answer.mark.stored == 3 && answer.mark.rejected == [.policy: 1])
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(records.map(\.header.number) == [3, 2, 1])
        #expect(records.map(\.context) == [Data("b".utf8), Data("a".utf8), nil])
        #expect(records[0].header.body(of: records[0].bytes) == Data("points".utf8))
        try await expectProven()
    }

    /// Every chain is whole, and nothing is left over.
    private func expectProven() async throws {
        var findings: ChainFindings?
        while findings == nil { findings = try await store.followChains() }
        #expect(findings?.faults == [] && findings?.furtherFaults == 0 && findings?.unreadableFiles == [])
        let report = try await store.verify()
        #expect(report.isWhole, "\(report.findings)")
        #expect(try await store.balances().devices.flatMap(\.epochs).allSatisfy { $0.balance.closes })
    }
}

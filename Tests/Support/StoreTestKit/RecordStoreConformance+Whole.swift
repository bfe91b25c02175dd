import Foundation
import RecordStore
import Testing
import WireModel

/// What holds over crashes, faults and days, and of all that is stored together.
extension RecordStoreConformance {
    func whatWasAnsweredSurvivesACrash() async throws { try await survives { try await engine.crash() } }
    func whatWasAnsweredSurvivesARestart() async throws { try await survives { try await engine.restart() } }

    private func survives(_ end: () async throws -> Void) async throws {
        var device = ScriptedDevice()
        device.produce(6)
        device.apply(await store.append(try #require(device.part(3)), from: device.device))
        let last = try #require(device.part())
        let answer = await store.append(last, from: device.device)
        try await end()
        let again = await store.append(last, from: device.device)
        #expect(again.outcome == .already && again.mark == answer.mark)
        device.apply(again)
        try await expectWhole([device])
        device.produce(2)
        let next = try await store.drain(&device)
        #expect(next?.outcome == .stored)
        try await expectWhole([device])
    }

    func aClosedEpochStaysClosedAfterACrash() async throws {
        var device = ScriptedDevice()
        device.produce(3)
        _ = try await store.drain(&device)
        _ = try await store.close(
            EpochClose(
                epoch: device.epoch,
                streams: StreamName.allCases.map { .init(stream: $0, last: 0, reason: .moved, points: []) }),
            from: device.device)
        try await engine.crash()
        device.produce(1)
        #expect(await store.append(try #require(device.part()), from: device.device).outcome == .closed)
    }

    func aFullDiskStoresNothingAndSaysSo() async throws {
        var device = ScriptedDevice()
        device.produce(3)
        _ = try await store.drain(&device)
        guard try await engine.fillDisk() else { return }
        device.produce(40, bodyBytes: 10_000)
        let part = try #require(device.part())
        let refused = await store.append(part, from: device.device)
        #expect(refused.outcome == .unavailable && refused.mark == device.mark && !refused.detail.isEmpty)
        #expect(await store.readiness() != .ready)
        try await engine.freeDisk()
        #expect(await store.append(part, from: device.device).outcome == .stored)
        #expect(await store.readiness() == .ready)
        try await expectWhole([device])
    }

    func scansEveryRecordOnceInTheOrderOfReceipt() async throws {
        // More than any store gives in one page.
        let count = 900
        var devices = [ScriptedDevice(), ScriptedDevice(), ScriptedDevice(stream: .event)]
        var received: [StreamName: [Data]] = [:]
        for round in 0..<6 {
            if round == 3 { engine.clock.advance(days: 1) }
            for place in devices.indices {
                devices[place].produce(
                    count, kind: round.isMultiple(of: 2) ? .sampleSystem : .sampleCustom, module: "m\(round)")
                let part = try #require(devices[place].part())
                received[devices[place].stream, default: []] += part.records
                let answer = await store.append([part], from: devices[place].device, receivedAt: Int64(round))[0]
                devices[place].apply(answer)
            }
        }
        let all = Set(devices.map(\.device))
        let samples = RecordQuery(.among(all), stream: .sample)
        // A cursor is good after a restart.
        let first = try await store.scan(samples, after: nil)
        try await engine.restart()
        let cursor = try #require(first.next)
        let rest = try await scanned(samples, after: cursor)
        #expect(first.records.map(\.bytes) + rest == received[.sample])
        #expect(try await scanned(RecordQuery(.among(all), stream: .event)) == received[.event])
        #expect(try await scanned(RecordQuery(.among([]), stream: .event)).isEmpty)
        let one = devices[1]
        #expect(
            try await scanned(RecordQuery(.one(one.device), stream: .sample)) == (1...one.last).map { one.made[$0] })
        #expect(try await scanned(RecordQuery(.one(one.device), stream: .sample, module: "m2")).count == count)
        let custom = RecordQuery(.among(all), stream: .sample, kinds: [WireRecordKind.sampleCustom.rawValue])
        #expect(try await scanned(custom).count == 6 * count)
        let late = RecordQuery(.among(all), stream: .sample, receivedSince: 4)
        #expect(try await scanned(late) == received[.sample]?.suffix(4 * count))
        await #expect(throws: StoreError.self) { _ = try await store.scan(samples, after: "x") }
    }

    func aScanGoesOnWithWhatHasComeSince() async throws {
        var query = RecordQuery(.all, stream: .event)
        query.isFollowing = true
        var (found, position): ([Data], String?) = ([], nil)
        func follow() async throws {
            var hasMore = true
            while hasMore {
                let page = try await store.scan(query, after: position)
                found += page.records.map(\.bytes)
                position = page.resume ?? position
                hasMore = page.next != nil
            }
        }
        try await follow()
        #expect(found.isEmpty)
        var device = ScriptedDevice(stream: .event)
        var made: [Data] = []
        for round in 0..<5 {
            // A day without records, and one that is new.
            if round == 3 { engine.clock.advance(days: 2) }
            if round == 4 { try await engine.restart() }
            device.produce(3)
            let part = try #require(device.part())
            made += part.records
            device.apply(await store.append([part], from: device.device, receivedAt: engine.clock.now())[0])
            try await follow()
            #expect(found == made, "round \(round)")
            try await follow()
            #expect(found == made, "round \(round), nothing new")
        }
        // Another stream's records are not in it, and what is left out is passed.
        query.kinds = [WireRecordKind.beacon.rawValue]
        let page = try await store.scan(query, after: nil)
        #expect(page.records.isEmpty)
    }

    private func scanned(_ query: RecordQuery, after: String? = nil) async throws -> [Data?] {
        var found: [Data?] = []
        var cursor = after
        repeat {
            let page = try await store.scan(query, after: cursor)
            found += page.records.map(\.bytes)
            cursor = page.next
        } while cursor != nil
        return found
    }

    func anErasedDeviceHasNoRecordsAndKeepsItsCounts() async throws {
        let gone = DeviceID.random()
        var erased = [
            ScriptedDevice(device: gone), ScriptedDevice(device: gone), ScriptedDevice(device: gone, stream: .event),
        ]
        var kept = [ScriptedDevice(), ScriptedDevice(stream: .event)]
        func send(_ devices: inout [ScriptedDevice]) async throws {
            for place in devices.indices {
                devices[place].produce(4)
                #expect(try await store.drain(&devices[place])?.outcome == .stored)
            }
        }
        // The second epoch is of the first day alone. Of the first one some is dropped and rejected.
        erased[0].produce(2)
        erased[0].dropOldest(1, reason: .ageCap)
        erased[0].append(Data([0xFF]))
        let old = try #require(erased[0].part())
        try await send(&erased)
        try await send(&kept)
        engine.clock.advance(days: 1)
        var again = [erased[0], erased[2]]
        try await send(&again)
        (erased[0], erased[2]) = (again[0], again[1])
        try await send(&kept)
        let before = try await store.balance(of: gone)
        try await store.erase([gone, .random()])
        func check(_ comment: Comment) async throws {
            for device in kept {
                let all = RecordQuery(.all, stream: device.stream)
                #expect(try await store.allRecords(of: gone, stream: device.stream).isEmpty, comment)
                #expect(try await scanned(all).count == 8, comment)
                let newest = try await store.newestRecords(of: [gone, device.device], all)
                #expect(Array(newest.keys) == [device.device], comment)
            }
            #expect(try await store.balance(of: gone) == before, comment)
            try await expectWhole(kept)
        }
        try await check("erased")
        try await store.erase([gone])
        try await check("erased again")
        try await engine.crash()
        try await check("after a crash")
        #expect(await store.append(old, from: gone).outcome == .already)
        // What comes later is stored, until it is erased too.
        try await send(&erased)
        try await send(&kept)
        #expect(try await store.allRecords(of: gone, stream: .event).count == 4)
        #expect(try await store.verify().isWhole)
        let later = try await store.balance(of: gone)
        try await store.erase([gone])
        #expect(try await store.allRecords(of: gone, stream: .event).isEmpty)
        #expect(try await store.balance(of: gone) == later)
        // Retention removes the rest, and no count changes.
        for item in try await store.partitions().kept { try await store.drop(item.partition) }
        #expect(try await store.balance(of: gone) == later)
        for device in kept {
            let balances = try await store.balance(of: device.device)
            #expect(balances.map(\.storedRows) == [12] && balances.allSatisfy { $0.balance.closes })
        }
        #expect(try await store.verify().isWhole)
    }

    /// A cursor names what was read last, also if that is gone.
    func aScanGoesOnAfterAnErasure() async throws {
        var query = RecordQuery(.all, stream: .event)
        query.isFollowing = true
        var (gone, kept) = (ScriptedDevice(stream: .event), ScriptedDevice(stream: .event))
        var (found, position): ([Data], String?) = ([], nil)
        func send(_ device: inout ScriptedDevice) async throws {
            device.produce(2)
            #expect(try await store.drain(&device)?.outcome == .stored)
        }
        for round in 0..<4 {
            if round == 2 { engine.clock.advance(days: 1) }
            try await send(&kept)
            try await send(&gone)
            var hasMore = true
            while hasMore {
                let page = try await store.scan(query, after: position)
                found += page.records.filter { $0.device == kept.device }.map(\.bytes)
                position = page.resume ?? position
                hasMore = page.next != nil
            }
            #expect(found == (1...kept.last).map { kept.made[$0] }, "round \(round)")
            try await send(&kept)
            try await store.erase([gone.device])
            if round == 0 { try await engine.restart() }
        }
    }

    /// Some epochs are of a dropped partition, some of one day, some of two, and some have two streams.
    func aBalanceOfManyEpochsComesInPages() async throws {
        let id = DeviceID.random()
        var epochs: [EpochID: UInt64] = [:]
        func send(_ device: inout ScriptedDevice) async throws {
            device.produce(2)
            epochs[device.epoch, default: 0] += 2
            #expect(try await store.drain(&device)?.outcome == .stored)
        }
        var first: [ScriptedDevice] = []
        for _ in 0..<6 {
            first.append(ScriptedDevice(device: id))
            try await send(&first[first.count - 1])
        }
        engine.clock.advance(days: 1)
        for index in 0..<3 { try await send(&first[index]) }
        for _ in 0..<4 {
            var samples = ScriptedDevice(device: id)
            var events = ScriptedDevice(device: id, epoch: samples.epoch, stream: .event)
            try await send(&samples)
            try await send(&events)
        }
        var other = ScriptedDevice()
        other.produce(1)
        _ = try await store.drain(&other)
        let oldest = try #require(try await store.partitions().kept.first { $0.partition.stream == .sample })
        try await store.drop(oldest.partition)

        let whole = try await store.balance(of: id)
        #expect(whole == whole.sorted() && Set(whole.map(\.epoch)) == Set(epochs.keys) && whole.count == 14)
        for epoch in epochs {
            #expect(whole.filter { $0.epoch == epoch.key }.reduce(0) { $0 + $1.storedRows } == epoch.value)
        }
        for limit in [1, 3, 4, 10, 1000] {
            var found: [EpochBalance] = []
            var after: EpochID?
            repeat {
                let page = try await store.balance(of: id, after: after, limit: limit)
                #expect(Set(page.epochs.map(\.epoch)).count <= limit)
                found += page.epochs
                if let last = after, let next = page.next { #expect(last < next, "it ends") }
                after = page.next
            } while after != nil
            #expect(found == whole, "pages of \(limit)")
        }
    }

    func aDroppedPartitionIsCountedAndNotTakenAgain() async throws {
        var device = ScriptedDevice()
        var parts: [BatchPart] = []
        for _ in 0..<3 {
            device.produce(4)
            parts.append(try #require(device.part()))
            _ = try await store.drain(&device)
            engine.clock.advance(days: 1)
        }
        let kept = try await store.partitions().kept.map(\.partition)
        try #require(kept.count == 3 && kept == kept.sorted())
        #expect(try await store.newestReceipt(in: kept[2]) == ManualStoreClock.start)
        await expectCode(.conflict) { try await store.drop(kept[1]) }
        await expectCode(.notFound) { try await store.drop(Partition(day: UTCDay(number: 1), stream: .sample)) }
        try await store.drop(kept[0])
        await expectCode(.notFound) { try await store.drop(kept[0]) }
        let list = try await store.partitions()
        #expect(list.kept.map(\.partition) == Array(kept[1...]) && list.dropped == [.sample: 1])
        #expect(try await store.allRecords(of: device.device, stream: .sample).count == 8)
        try await engine.crash()
        for partition in kept[1...] { try await store.drop(partition) }
        try await store.reclaim()
        #expect(try await store.partitions().kept.isEmpty)
        #expect(try await store.allRecords(of: device.device, stream: .sample).isEmpty)
        for part in parts {
            let again = await store.append(part, from: device.device)
            #expect(again.outcome == .already && again.mark == device.mark)
        }
        device.produce(1)
        #expect(try await store.drain(&device)?.outcome == .stored)
        let balance = try #require(try await store.balance(of: device.device).first)
        #expect(balance.storedRows == 13 && balance.balance.closes)
        #expect(try await store.balances().devices.flatMap(\.epochs) == [balance])
        #expect(try await store.verify().isWhole)
        let point = EpochClose.Point(number: 2, link: try #require(device.links[2]))
        let closed = try await store.close(
            EpochClose(
                epoch: device.epoch,
                streams: [.init(stream: .sample, last: device.last, reason: .moved, points: [point])]),
            from: device.device)
        #expect(closed.map(\.match) == [.unknown])
    }

    func aBackupHoldsWhatWasStoredBefore() async throws {
        var device = ScriptedDevice()
        for _ in 0..<2 {
            device.produce(5)
            _ = try await store.drain(&device)
            engine.clock.advance(days: 1)
        }
        try await store.drop(try #require(try await store.partitions().kept.first).partition)
        device.produce(2)
        _ = try await store.drain(&device)
        guard let copy = try await engine.restored() else {
            // Such an engine says so, instead of writing an incomplete backup.
            return await expectCode(.invalid) { _ = try await store.backup(to: "/nonexistent") { _ in } }
        }
        let balance = try await store.balance(of: device.device)
        #expect(try await copy.balance(of: device.device) == balance)
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(try await copy.allRecords(of: device.device, stream: .sample) == records)
        #expect(try await copy.verify().isWhole)
        device.produce(1)
        #expect(await copy.append(try #require(device.part()), from: device.device).outcome == .stored)
        await copy.shutDown()
    }

    func anUnharmedStoreHasNoHarm() async throws {
        var device = ScriptedDevice()
        device.produce(2)
        _ = try await store.drain(&device)
        #expect(try await store.harmedPartitions().isEmpty)
        #expect(StreamName.allCases.flatMap { store.unreadableFiles(of: $0) }.isEmpty)
    }

    func expectCode(_ code: StoreError.Code, _ body: () async throws -> Void) async {
        await #expect { try await body() } throws: { ($0 as? StoreError)?.code == code }
    }

    /// Everything the devices made is there once, as it was made, and all counts agree.
    private func expectWhole(_ devices: [ScriptedDevice]) async throws {
        for device in devices {
            let records = try await store.allRecords(of: device.device, stream: device.stream)
            #expect(records.map(\.header.number) == (1...device.last).reversed())
            #expect(records.map(\.bytes) == (1...device.last).reversed().map { device.made[$0] })
            let balance = try #require(try await store.balance(of: device.device).first)
            #expect(balance.storedRows == device.last && balance.balance.closes)
            #expect(try await store.balances().devices.first { $0.device == device.device }?.epochs == [balance])
            let marked = try await store.markedBalances(of: [device.device])
            #expect(marked.balances.map(\.balance) == [balance] && marked.balances.map(\.device) == [device.device])
        }
        var findings: ChainFindings?
        while findings == nil { findings = try await store.followChains() }
        #expect(findings?.faults == [] && findings?.furtherFaults == 0 && findings?.unreadableFiles == [])
        let report = try await store.verify()
        #expect(report.isWhole, "\(report.findings)")
        #expect(report.records == devices.reduce(0) { $0 + $1.last })
    }
}

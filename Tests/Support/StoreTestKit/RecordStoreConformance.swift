import Foundation
import RecordStore
import Testing
import WireModel

/// What every record store promises, whatever engine it is. Each check begins with an empty store.
package struct RecordStoreConformance {
    package let engine: any RecordStoreEngine
    var store: any RecordStore { engine.store }

    /// One promise.
    package struct Check: Sendable, CustomTestStringConvertible {
        package let testDescription: String
        private let body: @Sendable (RecordStoreConformance) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (RecordStoreConformance) async throws -> Void) {
            testDescription = name
            self.body = body
        }

        package func run(on engine: any RecordStoreEngine) async throws {
            do { try await body(RecordStoreConformance(engine: engine)) } catch {
                await engine.close()
                throw error
            }
            await engine.close()
        }
    }

    package static let checks = partChecks + itemChecks

    private static let partChecks = [
        Check("stores a part once and moves the mark") { try await $0.storesAPartOnceAndMovesTheMark() },
        Check("stores only what is above the mark") { try await $0.storesOnlyWhatIsAboveTheMark() },
        Check("refuses what is damaged or of another history") {
            try await $0.refusesWhatIsDamagedOrOfAnotherHistory()
        },
        Check("counts rejected dropped and lost") { try await $0.countsRejectedDroppedAndLost() },
        Check("keeps streams epochs and devices apart") { try await $0.keepsStreamsEpochsAndDevicesApart() },
        Check("answers parts in the order of the request") { try await $0.answersPartsInTheOrderOfTheRequest() },
        Check("shows waiting from the totals") { try await $0.showsWaitingFromTheTotals() },
        Check("closes an epoch for good and finds points") { try await $0.closesAnEpochForGoodAndFindsPoints() },
        Check("finer points find where an old image and the history part") {
            try await $0.finerPointsFindWhereAnOldImageAndTheHistoryPart()
        },
        Check("a repeated close changes no count") { try await $0.aRepeatedCloseChangesNoCount() },
        Check("a close tells the last totals") { try await $0.aCloseTellsTheLastTotals() },
        Check("pages newest first by kind and module") { try await $0.pagesNewestFirstByKindAndModule() },
        Check("a page has as many records as may be asked for") {
            try await $0.aPageHasAsManyRecordsAsMayBeAskedFor()
        },
        Check("many devices at once all arrive") { try await $0.manyDevicesAtOnceAllArrive() },
        Check("answers unavailable after shut down") { try await $0.answersUnavailableAfterShutDown() },
        Check("what was answered survives a crash") { try await $0.whatWasAnsweredSurvivesACrash() },
        Check("what was answered survives a restart") { try await $0.whatWasAnsweredSurvivesARestart() },
        Check("a closed epoch stays closed after a crash") { try await $0.aClosedEpochStaysClosedAfterACrash() },
        Check("a full disk stores nothing and says so") { try await $0.aFullDiskStoresNothingAndSaysSo() },
        Check("scans every record once in the order of receipt") {
            try await $0.scansEveryRecordOnceInTheOrderOfReceipt()
        },
        Check("a scan goes on with what has come since") { try await $0.aScanGoesOnWithWhatHasComeSince() },
        Check("a dropped partition is counted and not taken again") {
            try await $0.aDroppedPartitionIsCountedAndNotTakenAgain()
        },
        Check("an erased device has no records and keeps its counts") {
            try await $0.anErasedDeviceHasNoRecordsAndKeepsItsCounts()
        },
        Check("a scan goes on after an erasure") { try await $0.aScanGoesOnAfterAnErasure() },
        Check("a balance of many epochs comes in pages") { try await $0.aBalanceOfManyEpochsComesInPages() },
        Check("a backup holds what was stored before") { try await $0.aBackupHoldsWhatWasStoredBefore() },
        Check("an unharmed store has no harm") { try await $0.anUnharmedStoreHasNoHarm() },
    ]

    func storesAPartOnceAndMovesTheMark() async throws {
        var device = ScriptedDevice()
        device.produce(10)
        let part = try #require(device.part())
        let first = await store.append(part, from: device.device)
        #expect(first.outcome == .stored)
        #expect(first.mark.number == 10 && first.mark.stored == 10 && first.mark.link == device.link)
        let second = await store.append(part, from: device.device)
        #expect(second.outcome == .already)
        #expect(second.mark == first.mark)
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(records.map(\.header.number) == Array((1...10).reversed()))
        #expect(records.map(\.bytes) == (1...10).reversed().map { device.made[$0] })
    }

    func storesOnlyWhatIsAboveTheMark() async throws {
        var device = ScriptedDevice()
        device.produce(5)
        let early = try #require(device.part())
        _ = await store.append(early, from: device.device)
        device.produce(5)
        let overlapping = try #require(device.part(8))
        let answer = await store.append(overlapping, from: device.device)
        #expect(answer.outcome == .stored && answer.mark.number == 8 && answer.mark.stored == 8)
        #expect(try await store.allRecords(of: device.device, stream: .sample).count == 8)
    }

    func refusesWhatIsDamagedOrOfAnotherHistory() async throws {
        var device = ScriptedDevice()
        device.produce(4)
        var part = try #require(device.part())
        part.records[2][part.records[2].startIndex + 5] ^= 1
        #expect(await store.append(part, from: device.device).outcome == .damaged)
        let stored = await store.append(try #require(device.part()), from: device.device)
        #expect(stored.outcome == .stored)
        var other = ScriptedDevice(device: device.device, epoch: device.epoch)
        other.produce(6, bodyBytes: 41)
        let answer = await store.append(try #require(other.part()), from: device.device)
        #expect(answer.outcome == .identityConflict && answer.mark == stored.mark)
    }

    func countsRejectedDroppedAndLost() async throws {
        var device = ScriptedDevice()
        device.produce(3)
        device.dropOldest(2, reason: .ageCap)
        device.append(Data([0xFF, 0xFF]))
        device.append(Data(repeating: 7, count: WireLimits.recordBytes + 1))
        device.produce(1)
        let answer = try #require(try await store.drain(&device))
        #expect(answer.mark.number == 6 && answer.mark.stored == 2)
        #expect(answer.mark.dropped == [.ageCap: 2])
        #expect(answer.mark.rejected == [.malformedEnvelope: 1, .recordTooLarge: 1])
        // An older collector had acknowledged 7 and 8.
        device.produce(4)
        device.held.removeFirst(2)
        device.mark = StreamMark(number: 8, link: try #require(device.links[8]))
        let beyond = await store.append(try #require(device.part()), from: device.device)
        #expect(beyond.outcome == .stored && beyond.mark.lostAtCollector == 2 && beyond.mark.addsUp)
        let balance = try #require(try await store.balance(of: device.device).first)
        #expect(balance.storedRows == 4 && balance.balance.closes && balance.balance.waiting == 0)
        #expect(balance.balance.produced == 10)
    }

    func keepsStreamsEpochsAndDevicesApart() async throws {
        var devices = [
            ScriptedDevice(stream: .status), ScriptedDevice(stream: .event), ScriptedDevice(stream: .sample),
            ScriptedDevice(),
        ]
        devices.append(ScriptedDevice(device: devices[3].device, stream: .sample))
        for position in devices.indices { devices[position].produce(position + 1) }
        for position in devices.indices { _ = try await store.drain(&devices[position]) }
        for (position, device) in devices.enumerated() {
            let count = try await store.balance(of: device.device).filter { $0.epoch == device.epoch }.map(\.storedRows)
            #expect(count == [UInt64(position + 1)])
        }
        #expect(try await store.allRecords(of: devices[3].device, stream: .sample).count == 9)
    }

    func answersPartsInTheOrderOfTheRequest() async throws {
        var sample = ScriptedDevice(stream: .sample)
        var status = ScriptedDevice(device: sample.device, epoch: sample.epoch, stream: .status)
        sample.produce(6)
        status.produce(2)
        let parts = [try #require(sample.part(2)), try #require(status.part()), try #require(sample.part(6))]
        let answers = await store.append(parts, from: sample.device, receivedAt: 5)
        #expect(answers.map(\.stream) == [.sample, .status, .sample])
        #expect(answers.map(\.mark.number) == [2, 2, 6])
    }

    func showsWaitingFromTheTotals() async throws {
        var device = ScriptedDevice()
        device.produce(10)
        device.dropOldest(3)
        let answer = await store.append(try #require(device.part(4)), from: device.device)
        #expect(answer.mark.number == 6)
        let balance = try #require(try await store.balance(of: device.device).first)
        #expect(balance.balance.produced == 10 && balance.balance.waiting == 4 && balance.balance.closes)
        #expect(balance.totals == device.totals)
    }

    func closesAnEpochForGoodAndFindsPoints() async throws {
        var device = ScriptedDevice()
        device.produce(12)
        for size in [5, 4] {
            let answer = await store.append(try #require(device.part(size)), from: device.device)
            device.apply(answer)
        }
        func request(_ points: [UInt64], wrong: Set<UInt64> = []) -> EpochClose {
            let points = points.map { number in
                EpochClose.Point(
                    number: number,
                    link: wrong.contains(number) ? ChainLink(high: 1, low: 1) : device.links[number] ?? .zero)
            }
            return EpochClose(
                epoch: device.epoch,
                streams: StreamName.allCases.map { stream in
                    EpochClose.Stream(
                        stream: stream, last: stream == .sample ? 12 : 0, reason: .moved,
                        points: stream == .sample ? points : [])
                })
        }
        func match(_ request: EpochClose) async throws -> ClosedStream.Match? {
            try await store.close(request, from: device.device).first { $0.stream == .sample }?.match
        }
        #expect(
            try await match(request([12, 8, 3], wrong: [8]))
                == .point(.init(number: 3, link: try #require(device.links[3]))))
        // Finer points, of the same closed epoch.
        #expect(
            try await match(request([8, 7, 6], wrong: [8]))
                == .point(.init(number: 7, link: try #require(device.links[7]))))
        #expect(try await match(request([9])) == .point(.init(number: 9, link: try #require(device.links[9]))))
        #expect(try await match(request([4], wrong: [4])) == ClosedStream.Match.none)
        let late = await store.append(try #require(device.part()), from: device.device)
        #expect(late.outcome == .closed && late.mark.number == 9)
        let balance = try #require(try await store.balance(of: device.device).first { $0.stream == .sample })
        #expect(balance.closed && balance.balance.closes)
        #expect(
            balance.balance.dropped == ["moved": 3] && balance.balance.produced == 12 && balance.balance.waiting == 0)
    }

    /// What the queue does when histories part: coarse points first, finer ones between the match and the next, until
    /// they meet.
    func finerPointsFindWhereAnOldImageAndTheHistoryPart() async throws {
        var device = ScriptedDevice()
        device.produce(40)
        for size in [7, 9, 11] {
            device.apply(await store.append(try #require(device.part(size)), from: device.device))
        }
        // An image of 18 records went on by itself: the same up to 18, another way after.
        var image = ScriptedDevice(device: device.device, epoch: device.epoch)
        for number in 1...18 { image.append(try #require(device.made[UInt64(number)])) }
        image.produce(30, bodyBytes: 9)
        func match(_ numbers: [UInt64]) async throws -> ClosedStream {
            let points = numbers.compactMap { number in
                image.links[number].map { EpochClose.Point(number: number, link: $0) }
            }
            return try #require(
                try await store.close(
                    EpochClose(
                        epoch: device.epoch,
                        streams: StreamName.allCases.map {
                            .init(
                                stream: $0, last: $0 == .sample ? image.last : 0, reason: .moved,
                                points: $0 == .sample ? points : [])
                        }), from: device.device
                ).first { $0.stream == .sample })
        }
        var (low, high): (UInt64, UInt64) = (0, image.last + 1)
        var rounds = 0
        while high - low > 1, rounds < 20 {
            rounds += 1
            let step = max(1, (high - low) / 4)
            let numbers = Array(stride(from: low, to: high, by: Int(step)))
            let closed = try await match(numbers)
            guard case .point(let point) = closed.match else {
                Issue.record("\(numbers): \(closed.match)")
                return
            }
            #expect(closed.mark.number == 27)
            low = point.number
            high = numbers.first { $0 > low } ?? high
        }
        #expect(low == 18)
        let late = await store.append(try #require(device.part()), from: device.device)
        #expect(late.outcome == .closed)
        let other = await store.append(try #require(image.part()), from: device.device)
        #expect(other.outcome == .closed && other.mark.number == 27)
        let balance = try #require(try await store.balance(of: device.device).first { $0.stream == .sample })
        #expect(balance.storedRows == 27 && balance.balance.closes && balance.balance.produced == 48)
        #expect(balance.balance.dropped == ["moved": 21])
    }

    /// The first close stands: neither a greater last number nor another reason changes what is counted.
    func aRepeatedCloseChangesNoCount() async throws {
        var device = ScriptedDevice()
        device.produce(4)
        device.apply(await store.append(try #require(device.part(2)), from: device.device))
        for (last, reason) in [(UInt64(4), DropReason.wiped), (9, .moved), (2, .wiped)] {
            let closed = try await store.close(
                EpochClose(
                    epoch: device.epoch,
                    streams: StreamName.allCases.map { .init(stream: $0, last: last, reason: reason, points: []) }),
                from: device.device)
            #expect(closed.count == 3 && closed.allSatisfy { $0.match == .none })
            let balance = try #require(try await store.balance(of: device.device).first { $0.stream == .sample })
            #expect(balance.balance.dropped == ["wiped": 2] && balance.balance.produced == 4 && balance.balance.closes)
        }
    }

    /// The records that a device dropped after its last part, without a number: only the close reports them, and what
    /// was reported is never undone.
    func aCloseTellsTheLastTotals() async throws {
        var device = ScriptedDevice()
        device.produce(4)
        var part = try #require(device.part(2))
        part.totals.droppedUnnumbered = [.tooLarge: 2, .consent: 1]
        device.apply(await store.append(part, from: device.device))
        func dropped(after counts: [DropReason: UInt64]?) async throws -> [String: UInt64] {
            let totals = counts.map { StreamTotals(produced: 4 + $0.values.reduce(0, +), droppedUnnumbered: $0) }
            _ = try await store.close(
                EpochClose(
                    epoch: device.epoch,
                    streams: StreamName.allCases.map {
                        .init(stream: $0, last: 4, reason: .moved, points: [], totals: totals)
                    }),
                from: device.device)
            let balance = try #require(try await store.balance(of: device.device).first { $0.stream == .sample })
                .balance
            #expect(balance.closes && balance.waiting == 0 && balance.stored == 2)
            return balance.dropped
        }
        #expect(try await dropped(after: nil) == ["moved": 2, "too-large": 2, "consent": 1])
        #expect(
            try await dropped(after: [.tooLarge: 5, .wiped: 7]) == [
                "moved": 2, "too-large": 5, "consent": 1, "wiped": 7,
            ])
        #expect(try await dropped(after: [.tooLarge: 3]) == ["moved": 2, "too-large": 5, "consent": 1, "wiped": 7])
    }

    func pagesNewestFirstByKindAndModule() async throws {
        var device = ScriptedDevice()
        for round in 0..<6 {
            device.produce(3, kind: round.isMultiple(of: 2) ? .sampleSystem : .sampleCustom, module: "m\(round)")
            _ = try await store.drain(&device, parts: 2)
        }
        let all = try await store.allRecords(of: device.device, stream: .sample, pageSize: 4)
        #expect(all.map(\.header.number) == Array((1...18).reversed()))
        let custom = try await store.records(
            of: device.device, stream: .sample, kind: WireRecordKind.sampleCustom.rawValue, module: nil, before: nil,
            limit: 100)
        #expect(custom.records.count == 9 && custom.next == nil)
        let module = try await store.records(
            of: device.device, stream: .sample, kind: nil, module: "m3", before: nil, limit: 2)
        #expect(module.records.map(\.header.number) == [12, 11])
        let rest = try await store.records(
            of: device.device, stream: .sample, kind: nil, module: "m3", before: module.next, limit: 2)
        #expect(rest.records.map(\.header.number) == [10])
        await #expect(throws: StoreError.self) {
            _ = try await store.records(
                of: device.device, stream: .sample, kind: nil, module: nil, before: "x", limit: 2)
        }
    }

    func aPageHasAsManyRecordsAsMayBeAskedFor() async throws {
        var device = ScriptedDevice()
        for module in 0..<40 {
            device.produce(130, module: "m\(module)")
            _ = try await store.drain(&device)
        }
        let most = RecordPage.maximumRecords
        var query = RecordQuery(.one(device.device), stream: .sample)
        let first = try await store.records(query, before: nil, limit: most)
        #expect(first.records.map(\.header.number) == (201...5200).reversed())
        let second = try await store.records(query, before: first.next, limit: most)
        #expect(second.records.map(\.header.number) == (1...200).reversed() && second.next == nil)
        // The slices of a first look have no match.
        query.module = "m1"
        let oldest = try await store.records(query, before: nil, limit: 2)
        #expect(oldest.records.map(\.header.number) == [260, 259])
        for limit in [0, most + 1] {
            await expectCode(.invalid) { _ = try await store.records(query, before: nil, limit: limit) }
        }
    }

    func manyDevicesAtOnceAllArrive() async throws {
        let store = store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for position in 0..<40 {
                group.addTask {
                    var device = ScriptedDevice(stream: StreamName.allCases[position % 3])
                    for _ in 0..<5 {
                        device.produce(7)
                        _ = try await store.drain(&device, parts: 3)
                    }
                    let balance = try await store.balance(of: device.device)
                    #expect(balance.map(\.storedRows) == [35] && device.held.isEmpty)
                }
            }
            try await group.waitForAll()
        }
    }

    func answersUnavailableAfterShutDown() async throws {
        var device = ScriptedDevice()
        device.produce(1)
        await store.shutDown()
        let answer = await store.append(try #require(device.part()), from: device.device)
        #expect(answer.outcome == .unavailable)
        #expect(await store.readiness() != .ready)
    }
}

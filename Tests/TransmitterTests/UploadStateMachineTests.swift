import DeviceTunables
import FoundationEssentials
import Testing
@testable import Transmitter
import WireModel

@Suite struct UploadStateMachineTests {
    private static func upload(_ number: UInt8, chunks: Int = 3, type: WireLogType = .application, accepted: Int64 = 0)
        -> LogUpload
    {
        var manifest = WireUploadManifest()
        manifest.uploadID = Data(repeating: number, count: 16)
        manifest.type = type
        manifest.chunks = (1...max(1, chunks)).prefix(chunks).map { index in
            var chunk = WireUploadChunk()
            chunk.number = UInt32(index)
            chunk.rawBytes = 100
            return chunk
        }
        return LogUpload(manifest: manifest, plan: Data(), accepted: accepted)
    }

    private static func status(_ missing: [UInt32], complete: Bool = false) -> CollectorAnswer {
        var status = WireUploadStatus()
        status.missing = missing
        status.complete = complete
        return .success(status.encoded)
    }

    private func expect(_ expected: Bool, _ value: Bool, at location: SourceLocation = #_sourceLocation) {
        #expect(value == expected, sourceLocation: location)
    }

    private func machine(_ uploads: LogUpload...) -> UploadStateMachine {
        var machine = UploadStateMachine()
        for upload in uploads { expect(true, machine.add(upload)) }
        return machine
    }

    /// Answers the next step, which has to be this one.
    private func answer(
        _ machine: inout UploadStateMachine, _ request: UploadStateMachine.Request, _ answer: CollectorAnswer,
        now: Int64 = 0
    ) throws {
        let step = try #require(machine.next(now: now))
        #expect(step.request == request)
        machine.answered(step, answer, now: now, roll: 1)
    }

    @Test func `An upload is announced, sent chunk by chunk, and completed`() throws {
        var machine = machine(Self.upload(1))
        let id = Data(repeating: 1, count: 16)
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        try answer(&machine, .chunk(1), Self.status([2, 3]))
        #expect(machine[id]?.progress == 3333)
        try answer(&machine, .chunk(2), .empty)
        try answer(&machine, .chunk(3), .empty)
        try answer(&machine, .complete, Self.status([], complete: true))
        #expect(machine[id]?.phase == .done)
        #expect(machine.isIdle)
    }

    @Test func `What the collector has is not sent again`() throws {
        var machine = machine(Self.upload(1))
        try answer(&machine, .announce, Self.status([3]))
        try answer(&machine, .chunk(3), .empty)
        try answer(&machine, .complete, Self.status([], complete: true))
        var complete = self.machine(Self.upload(2))
        try answer(&complete, .announce, Self.status([], complete: true))
        #expect(complete.isIdle)
    }

    @Test func `An empty upload is completed at once`() throws {
        var machine = machine(Self.upload(1, chunks: 0))
        try answer(&machine, .announce, Self.status([]))
        try answer(&machine, .complete, Self.status([], complete: true))
        #expect(machine.isIdle)
    }

    @Test func `What is found missing at the end is sent`() throws {
        var machine = machine(Self.upload(1))
        try answer(&machine, .announce, Self.status([1]))
        try answer(&machine, .chunk(1), .empty)
        try answer(&machine, .complete, Self.status([2]))
        try answer(&machine, .chunk(2), .empty)
    }

    @Test func `A collector that keeps missing what it stored is not fed without end`() throws {
        var machine = machine(Self.upload(1, chunks: 1))
        try answer(&machine, .announce, Self.status([1]))
        for _ in 1...Tunables.Uploads.maximumIncompletes {
            try answer(&machine, .chunk(1), .empty)
            try answer(&machine, .complete, Self.status([1]))
        }
        #expect(machine.uploads.map(\.phase) == [.failed])
    }

    @Test func `Crashes go before other logs, also in the middle of them`() throws {
        var machine = machine(Self.upload(1), Self.upload(2))
        try answer(&machine, .announce, Self.status([1, 2]))
        expect(true, machine.add(Self.upload(3, chunks: 1, type: .crash)))
        #expect(machine.next(now: 0) == .init(upload: Data(repeating: 3, count: 16), request: .announce))
        try answer(&machine, .announce, Self.status([1]))
        try answer(&machine, .chunk(1), .empty)
        try answer(&machine, .complete, Self.status([], complete: true))
        #expect(machine.next(now: 0) == .init(upload: Data(repeating: 1, count: 16), request: .chunk(1)))
    }

    @Test func `A restart asks the collector what it has`() throws {
        var before = machine(Self.upload(1))
        try answer(&before, .announce, Self.status([2, 3]))
        let after = UploadStateMachine(before.uploads)
        #expect(after.next(now: 0)?.request == .announce)
    }

    @Test(
        arguments: [
            (CollectorAnswer.retry(after: nil, "busy"), 1.0), (.retry(after: .seconds(20), "busy"), 21),
            (.failing(after: nil, "500"), 1),
            (.failing(after: .seconds(7200), "503"), 3601), (.unreachable("nobody"), 1),
            (.tooLarge("a proxy"), 301),
            (.credentialRefused("no"), 301), (.forbidden("no"), 301), (.incompatible("2"), 301),
            (.notEnrolled("not yet"), 301),
            (.otherCollector(.random()), 301), (.notModified, 1),
        ] as [(CollectorAnswer, Double)])
    func `What is in the way holds all back and loses nothing`(_ given: CollectorAnswer, _ seconds: Double) throws {
        var machine = machine(Self.upload(1), Self.upload(2))
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        try answer(&machine, .chunk(1), given)
        let due = Int64(seconds * 1_000_000)
        #expect(machine.next(now: due - 1) == nil)
        #expect(machine.next(now: due)?.request == .chunk(1))
        #expect(machine.uploads.allSatisfy { !$0.phase.isFinal })
    }

    @Test func `An upload without room waits alone and says why`() throws {
        var machine = machine(Self.upload(1, type: .crash), Self.upload(2), Self.upload(3, chunks: 1))
        let (full, other, last) = (
            Data(repeating: 1, count: 16), Data(repeating: 2, count: 16), Data(repeating: 3, count: 16)
        )
        let quota = CollectorAnswer.full(after: .seconds(3600), "507 log-quota-exceeded")
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        try answer(&machine, .chunk(1), quota)
        #expect(machine[full]?.detail == "507 log-quota-exceeded")
        // The others go on at once, and are finished meanwhile.
        #expect(machine.next(now: 0) == .init(upload: other, request: .announce))
        try answer(&machine, .announce, Self.status([], complete: true))
        #expect(machine.next(now: 0) == .init(upload: last, request: .announce))
        try answer(&machine, .announce, Self.status([1]))
        try answer(&machine, .chunk(1), .empty)
        try answer(&machine, .complete, Self.status([], complete: true))
        #expect(machine[full]?.phase == .sending)
        let due = try #require(machine.dueAt)
        #expect(machine.next(now: due - 1) == nil)
        #expect(machine.next(now: due) == .init(upload: full, request: .chunk(1)))
        #expect(machine[full]?.detail == "507 log-quota-exceeded")
    }

    @Test(arguments: [nil, .zero, .seconds(3600)] as [Duration?])
    func `A raised quota is noticed within six minutes, however long it was used up`(_ after: Duration?) throws {
        var machine = machine(Self.upload(1))
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        var now: Int64 = 0
        var requests = 0
        while now < 86_400 * 1_000_000 {
            try answer(&machine, .chunk(1), .full(after: after, "507"), now: now)
            requests += 1
            let due = try #require(machine.dueAt)
            #expect(due - now <= 360 * 1_000_000)
            now = due
        }
        #expect(requests < 24 * 60 + 10, "\(requests) requests in a day")
        try answer(&machine, .chunk(1), .empty, now: now)
        #expect(machine.dueAt == 0)
    }

    @Test func `A chunk that cannot be read is tried again within seconds and holds no other upload back`() throws {
        var machine = machine(Self.upload(1), Self.upload(2))
        let id = Data(repeating: 1, count: 16)
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        machine.couldNotRead(id, "EIO", now: 0, roll: 1)
        #expect(machine.next(now: 0) == .init(upload: Data(repeating: 2, count: 16), request: .announce))
        machine.cancel(Data(repeating: 2, count: 16))
        var now: Int64 = 0
        for _ in 1...20 {
            let due = try #require(machine.dueAt)
            #expect(due - now <= 10_000_000)
            now = due
            machine.couldNotRead(id, "EIO", now: now, roll: 1)
        }
        #expect(machine[id]?.detail == "EIO")
    }

    @Test func `An upload that the collector forgot does not hold others back`() throws {
        var machine = machine(Self.upload(1), Self.upload(2))
        try answer(&machine, .announce, Self.status([1]))
        try answer(&machine, .chunk(1), .notFound("expired"))
        #expect(machine.next(now: 0) == .init(upload: Data(repeating: 2, count: 16), request: .announce))
    }

    @Test func `Failures in a row wait longer, and a chunk that arrives ends that`() throws {
        var machine = machine(Self.upload(1))
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        var now: Int64 = 0
        for seconds: Int64 in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            try answer(&machine, .chunk(1), .unreachable("nobody"), now: now)
            #expect(machine.notBefore - now == seconds * 1_000_000)
            now = machine.notBefore
        }
        try answer(&machine, .chunk(1), .empty, now: now)
        try answer(&machine, .chunk(2), .unreachable("nobody"), now: now)
        #expect(machine.notBefore - now == 1_000_000)
    }

    @Test(arguments: [CollectorAnswer.conflict("another manifest"), .refused("too many chunks"), .empty])
    func `A manifest that is refused for ten minutes while records pass ends this upload alone`(
        _ given: CollectorAnswer
    ) throws {
        var machine = machine(Self.upload(1), Self.upload(2))
        let (id, other) = (Data(repeating: 1, count: 16), Data(repeating: 2, count: 16))
        try answer(&machine, .announce, given)
        #expect(machine[id]?.phase == .announcing)
        #expect(machine.next(now: 0) == .init(upload: other, request: .announce), "the other one does not wait")
        machine.cancel(other)
        var acknowledged: UInt64 = 0
        while machine[id]?.phase.isFinal == false {
            acknowledged += 1
            let now = try #require(machine.dueAt)
            #expect(now < 3600 * 1_000_000)
            machine.answered(
                .init(upload: id, request: .announce), given, acknowledged: acknowledged, now: now, roll: 1)
            if machine[id]?.phase == .failed { #expect(now >= 600 * 1_000_000) }
        }
        #expect(machine[id]?.phase == .failed)
    }

    @Test(arguments: [CollectorAnswer.conflict("another manifest"), .refused("400")])
    func `A refusal while nothing else passes ends no upload`(_ given: CollectorAnswer) throws {
        var machine = machine(Self.upload(1))
        var requests = 0
        while let now = machine.dueAt, now < 86_400 * 1_000_000 {
            try answer(&machine, .announce, given, now: now)
            requests += 1
        }
        #expect(machine.uploads.map(\.phase) == [.announcing])
        #expect(requests < 24 * 12 + 20, "\(requests) requests in a day")
    }

    @Test func `An upload the collector forgot is announced anew`() throws {
        var machine = machine(Self.upload(1))
        try answer(&machine, .announce, Self.status([1, 2, 3]))
        try answer(&machine, .chunk(1), .notFound("expired"))
        let now = try #require(machine.dueAt)
        #expect(now > 0)
        try answer(&machine, .announce, Self.status([1, 2, 3]), now: now)
        // Forgotten again, at once: it is not announced without end.
        try answer(&machine, .chunk(1), .notFound("expired"), now: now)
        #expect(machine.dueAt.map { $0 - now } == 2_000_000)
    }

    @Test func `A chunk that is refused comes again and then ends the upload`() throws {
        var machine = machine(Self.upload(1))
        let id = Data(repeating: 1, count: 16)
        var now: Int64 = 0
        var acknowledged: UInt64 = 0
        while let due = machine.dueAt {
            now = due
            acknowledged += 1
            #expect(machine[id]?.phase == .announcing && now < 3600 * 1_000_000)
            // Announcing it again shows whether the chunk is still wanted; it does not forgive the refusals.
            try answer(&machine, .announce, Self.status([2]), now: now)
            machine.answered(
                .init(upload: id, request: .chunk(2)), .refused("damaged"), acknowledged: acknowledged, now: now,
                roll: 1)
        }
        #expect(machine[id]?.phase == .failed && now >= 600 * 1_000_000)
    }

    @Test func `A chunk that is gone is reported and not asked for again`() throws {
        var machine = machine(Self.upload(1))
        let id = Data(repeating: 1, count: 16)
        try answer(&machine, .announce, Self.status([1, 2]))
        machine.chunkWasGone(1, of: id, reason: .ageCap)
        try answer(&machine, .chunk(2), Self.status([1]))
        #expect(machine[id]?.gone == [LogUpload.Gone(number: 1, reason: DropReason.ageCap.rawValue)])
        try answer(&machine, .complete, Self.status([], complete: true))
        #expect(machine[id]?.phase == .done)
    }

    @Test func `Nothing is kept forever`() throws {
        var machine = machine(Self.upload(1, accepted: 5))
        expect(false, machine.expire(now: 5 + Tunables.Uploads.greatestAgeMicroseconds - 1))
        expect(true, machine.expire(now: 5 + Tunables.Uploads.greatestAgeMicroseconds))
        #expect(machine.uploads.map(\.phase) == [.failed])
        for number in 2...UInt8(Tunables.Uploads.maximumOpen + 1) { expect(true, machine.add(Self.upload(number))) }
        expect(false, machine.add(Self.upload(200)))
        for number in 2...UInt8(Tunables.Uploads.maximumOpen + 1) {
            machine.cancel(Data(repeating: number, count: 16))
        }
        #expect(machine.uploads.count == Tunables.Uploads.maximumEnded)
        expect(true, machine.add(Self.upload(200)))
    }
}

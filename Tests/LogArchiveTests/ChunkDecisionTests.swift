import Testing

@testable import LogArchive
@testable import Registry

@Suite struct ChunkDecisionTests {
    @Test(arguments: [
        (UploadPhase.open, ChunkFate?.some(.missing), 10, ChunkDecision.accept),
        (.open, .missing, 80, .accept),
        (.open, .missing, 91, .refuse(.quotaExceeded(.application, used: 910, limit: 1000))),
        (.open, .missing, 86, .refuse(.quotaExceeded(.device, used: 15, limit: 100))),
        (.open, .missing, 81, .refuse(.quotaExceeded(.organization, used: 920, limit: 1000))),

        (.expired, .missing, 10, .refuse(.expired)), (.complete, .missing, 10, .refuse(.expired)),
        (.open, .stored, 99, .already), (.complete, .stored, 99, .already), (.expired, .stored, 99, .already),
        (.open, .deleted, 10, .already), (.complete, .gone, 10, .already), (.open, nil, 10, .refuse(.unknownChunk)),
    ])
    func `A chunk is accepted while it is missing and there is room`(
        _ phase: UploadPhase, _ fate: ChunkFate?, _ bytes: Int, _ expected: ChunkDecision
    ) {
        #expect(
            ChunkDecision.decide(
                phase: phase, expires: 100, now: 99, fate: fate, rawBytes: bytes,
                usage: [
                    (.application, LogUsage(rawBytes: 910, quota: 1000)),
                    (.device, LogUsage(rawBytes: 15, quota: 100)),
                    (.organization, LogUsage(rawBytes: 920, quota: 1000)),
                ]) == expected)
        if fate == .missing {
            #expect(
                ChunkDecision.decide(
                    phase: phase, expires: 100, now: 100, fate: fate, rawBytes: bytes, usage: [])
                    == .refuse(.expired))
        }
    }

    @Test func `Notices begin and end where the usage crosses their borders`() {
        func change(_ former: Int, _ present: Int, quota: Int = 100) -> ([NoticeRow.Code], [NoticeRow.Code]) {
            let change = LogUsage.change(
                from: LogUsage(rawBytes: former, quota: 100), to: LogUsage(rawBytes: present, quota: quota))
            return (change.raised, change.ended)
        }
        #expect(change(10, 74) == ([], [.logQuotaHigh]))
        #expect(change(74, 75) == ([.logQuotaHigh], []))
        #expect(change(76, 99) == ([], []))
        #expect(change(99, 100) == ([.logQuotaReached], []))
        #expect(change(10, 100) == ([.logQuotaHigh, .logQuotaReached], []))
        #expect(change(100, 80) == ([], [.logQuotaReached]))
        #expect(change(100, 10) == ([], [.logQuotaHigh, .logQuotaReached]))
        #expect(change(100, 100, quota: 125) == ([], [.logQuotaReached]), "a raised quota ends them too")
        #expect(change(100, 100, quota: 200) == ([], [.logQuotaHigh, .logQuotaReached]))
        #expect(change(80, 80, quota: 80) == ([.logQuotaReached], []))
    }
}

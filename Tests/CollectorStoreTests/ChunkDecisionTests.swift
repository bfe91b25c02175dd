import Testing

@testable import CollectorStore

@Suite struct ChunkDecisionTests {
    @Test(arguments: [
        (UploadPhase.open, ChunkFate?.some(.missing), 10, ChunkDecision.take),
        (.open, .missing, 90, .take),
        (.open, .missing, 91, .refuse(.quotaExceeded(used: 910, limit: 1000))),
        (.expired, .missing, 10, .refuse(.expired)), (.complete, .missing, 10, .refuse(.expired)),
        (.open, .stored, 99, .already), (.complete, .stored, 99, .already), (.expired, .stored, 99, .already),
        (.open, .deleted, 10, .already), (.complete, .gone, 10, .already), (.open, nil, 10, .refuse(.unknownChunk)),
    ])
    func aChunkIsTakenWhileItIsMissingAndThereIsRoom(
        _ phase: UploadPhase, _ fate: ChunkFate?, _ bytes: Int, _ expected: ChunkDecision
    ) {
        #expect(
            ChunkDecision.decide(
                phase: phase, expires: 100, now: 99, fate: fate, rawBytes: bytes, used: 910, quota: 1000) == expected)
        if fate == .missing {
            #expect(
                ChunkDecision.decide(
                    phase: phase, expires: 100, now: 100, fate: fate, rawBytes: bytes, used: 0, quota: 1000)
                    == .refuse(.expired))
        }
    }

    @Test func noticesBeginAndEndWhereTheUsageCrossesTheirBorders() {
        func change(_ former: Int, _ present: Int) -> ([NoticeRow.Code], [NoticeRow.Code]) {
            LogUsage.change(from: LogUsage(rawBytes: former, quota: 100), to: LogUsage(rawBytes: present, quota: 100))
        }
        #expect(change(10, 74) == ([], [.logQuotaHigh]))
        #expect(change(74, 75) == ([.logQuotaHigh], []))
        #expect(change(76, 99) == ([], []))
        #expect(change(99, 100) == ([.logQuotaReached], []))
        #expect(change(10, 100) == ([.logQuotaHigh, .logQuotaReached], []))
        #expect(change(100, 80) == ([], [.logQuotaReached]))
        #expect(change(100, 10) == ([], [.logQuotaHigh, .logQuotaReached]))
    }
}

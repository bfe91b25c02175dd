import CollectorStore
import Testing

/// The SQLite engine keeps what every record store promises.
@Suite struct SQLiteRecordStoreConformanceTests {
    private func run(_ check: (RecordStoreConformance) -> () async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteRecordStore.open(directory)
        try await check(RecordStoreConformance(store: store))()
        await store.shutDown()
    }

    @Test func storesAPartOnceAndMovesTheMark() async throws { try await run { $0.storesAPartOnceAndMovesTheMark } }
    @Test func storesOnlyWhatIsAboveTheMark() async throws { try await run { $0.storesOnlyWhatIsAboveTheMark } }
    @Test func refusesWhatIsDamagedOrOfAnotherHistory() async throws {
        try await run { $0.refusesWhatIsDamagedOrOfAnotherHistory }
    }
    @Test func countsRejectedDroppedAndLost() async throws { try await run { $0.countsRejectedDroppedAndLost } }
    @Test func keepsStreamsEpochsAndDevicesApart() async throws {
        try await run { $0.keepsStreamsEpochsAndDevicesApart }
    }
    @Test func answersPartsInTheOrderOfTheRequest() async throws {
        try await run { $0.answersPartsInTheOrderOfTheRequest }
    }
    @Test func showsWaitingFromTheTotals() async throws { try await run { $0.showsWaitingFromTheTotals } }
    @Test func closesAnEpochForGoodAndFindsPoints() async throws {
        try await run { $0.closesAnEpochForGoodAndFindsPoints }
    }
    @Test func finerPointsFindWhereAnOldImageAndTheHistoryPart() async throws {
        try await run { $0.finerPointsFindWhereAnOldImageAndTheHistoryPart }
    }
    @Test func aRepeatedCloseChangesNoCount() async throws { try await run { $0.aRepeatedCloseChangesNoCount } }
    @Test func aCloseTellsTheLastTotals() async throws { try await run { $0.aCloseTellsTheLastTotals } }
    @Test func pagesNewestFirstByKindAndModule() async throws { try await run { $0.pagesNewestFirstByKindAndModule } }
    @Test func manyDevicesAtOnceAllArrive() async throws { try await run { $0.manyDevicesAtOnceAllArrive } }
    @Test func answersUnavailableAfterShutDown() async throws { try await run { $0.answersUnavailableAfterShutDown } }
}

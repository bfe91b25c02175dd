import Testing

@testable import ClickHouse

@Suite struct ClickHouseInsertSettingsTests {
    @Test func `The old engine gets only settings that it knows`() throws {
        let engine = try #require(ClickHouseEngineVersion("18.16.1"))
        #expect(
            ClickHouseInsertSettings(quorum: 2, engine: engine).values == [
                "insert_quorum": "2", "insert_quorum_timeout": "10000", "insert_deduplicate": "0",
            ])
    }

    @Test func `A current engine neither parses in parallel nor waits nor repeats`() throws {
        let engine = try #require(ClickHouseEngineVersion("25.8.2.29"))
        let values = ClickHouseInsertSettings(quorum: 2, engine: engine, quorumTimeoutSeconds: 3).values
        #expect(values["input_format_parallel_parsing"] == "0")
        #expect(values["async_insert"] == "0")
        #expect(values["insert_quorum_parallel"] == "1")
        #expect(values["insert_keeper_max_retries"] == "0")
        #expect(values["insert_quorum_timeout"] == "3000")
    }

    @Test(arguments: ["", "18", "x.1", "18.x", "-1.2"])
    func `Other texts are no versions`(text: String) { #expect(ClickHouseEngineVersion(text) == nil) }

    @Test func `Versions are compared by major, then by minor number`() {
        #expect(ClickHouseEngineVersion(major: 20, minor: 10) > ClickHouseEngineVersion(major: 20, minor: 9))
        #expect(ClickHouseEngineVersion(major: 18, minor: 16) < ClickHouseEngineVersion(major: 20, minor: 1))
    }
}

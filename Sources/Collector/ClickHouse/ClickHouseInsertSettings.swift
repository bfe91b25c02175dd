/// The settings with which an insert waits for a quorum and is stored whole or not at all.
///
/// `ClickHouseClient.insert` itself makes one block of all rows. If all rows are in one partition, that block becomes
/// one part. The settings here switch off what an engine could put between the insert and that part. Engines refuse
/// settings that they do not know, so the version decides.
package struct ClickHouseInsertSettings: Sendable, Hashable {
    /// The values for the `settings` of an insert.
    package let values: [String: String]

    /// - Parameters:
    ///   - quorum: how many replicas must have the part before the server answers; 0 or 1: the one that is asked.
    ///   - engine: the version of the server.
    ///   - quorumTimeoutSeconds: how long the server waits for the quorum. Then it answers with exception 319, and the
    ///     outcome is unknown. Keep it below the insert's timeout.
    package init(quorum: Int, engine: ClickHouseEngineVersion, quorumTimeoutSeconds: Int = 10) {
        var values = [
            "insert_quorum": "\(quorum)", "insert_quorum_timeout": "\(quorumTimeoutSeconds * 1000)",
            // The engine would drop a part with the same rows as an earlier one. Versions of a key decide instead.
            "insert_deduplicate": "0",
        ]
        // Each with the version that introduced it.
        if engine >= .init(major: 20, minor: 1) { values["input_format_parallel_parsing"] = "0" }
        if engine >= .init(major: 20, minor: 10) { values["insert_quorum_parallel"] = quorum > 1 ? "1" : "0" }
        if engine >= .init(major: 21, minor: 11) { values["async_insert"] = "0" }
        // An engine that repeats an insert by itself after it lost Keeper makes the codes of errors ambiguous.
        if engine >= .init(major: 23, minor: 2) { values["insert_keeper_max_retries"] = "0" }
        self.values = values
    }

    /// The settings that make one block of this many rows, on every engine.
    ///
    /// The parser ends a block after `max_insert_block_size` rows. The server joins small blocks until one of the other
    /// two is reached. Both are out of reach; 0 would not do, because engines read it differently.
    static func oneBlock(rows: Int) -> [String: String] {
        [
            "max_insert_block_size": "\(rows + 1)", "min_insert_block_size_rows": "\(rows + 1)",
            "min_insert_block_size_bytes": "\(1 << 40)",
        ]
    }
}

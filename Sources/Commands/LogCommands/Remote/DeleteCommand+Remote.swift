import WireModel

extension DeleteCommand {
    /// What a deletion took, or would take.
    private struct Deletion: Decodable {
        var deleted: Bool
        var chunks: Int
        var lines: UInt64
        var confirm: String?
    }

    /// By the same rule as here: whole chunks, those all of whose lines lie between the times.
    func runRemotely() async throws {
        let now = Clock.microseconds
        let lines = LogFilter(since: since?.microseconds(now: now), until: until?.microseconds(now: now))
        let result = try await CollectorClient.with(try collector.access()) { client in
            let query = try RemoteQuery(client.device, type: type, lines: lines)
            let chunks = try await client.chunks(query).filter { isWhole($0, in: lines) }
            guard !chunks.isEmpty else { return Result(segments: 0, lines: 0) }
            let count = chunks.reduce(0) { $0 + $1.lines }
            try confirm(
                "\(CountText.of(count, "line")) in \(CountText.of(chunks.count, "chunk")) of device \(client.device) at \(client.name) "
                    + "will be deleted for good")
            return try await delete(chunks.map(\.id), client)
        }
        var output = StandardOutput()
        if json { try output.json(result) } else { try output.line("\(result.lines) lines deleted") }
        try output.flush()
    }

    private func isWhole(_ chunk: RemoteChunk, in lines: LogFilter) -> Bool {
        guard type == .all || chunk.type?.rawValue == type.rawValue else { return false }
        guard lines.since != nil || lines.until != nil else { return true }
        guard let times = chunk.times else { return false }
        return times.lowerBound >= lines.since ?? .min && times.upperBound < lines.until ?? .max
    }

    /// In the two steps of the collector: what it would take, then exactly that.
    private func delete(_ ids: [String], _ client: CollectorClient) async throws(LogCommandError) -> Result {
        var result = Result(segments: 0, lines: 0)
        var rest = ids[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(CollectorClient.idsPerRequest))
            rest = rest.dropFirst(batch.count)
            let query = try RemoteQuery(client.device).with(ids: batch)
            let told: Deletion = try await client.delete(query.path(CollectorClient.listRoute))
            // Others may have deleted some meanwhile; more than was agreed to it cannot be.
            guard !told.deleted, told.chunks <= batch.count, let word = told.confirm else {
                throw LogCommandError(
                    .failed, "\(client.name) would delete other chunks than it was asked to; \(result.lines) lines are deleted")
            }
            guard told.chunks > 0 else { continue }
            let done: Deletion = try await client.delete(query.with("confirm", word).path(CollectorClient.listRoute))
            result.segments += done.chunks
            result.lines += done.lines
        }
        return result
    }
}

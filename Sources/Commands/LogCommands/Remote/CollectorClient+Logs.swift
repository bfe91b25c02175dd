extension CollectorClient {
    /// More chunks than this of one device are no list for a person, and no fetch.
    private static let maximumChunks = 200_000
    /// So many ids go into an address.
    static let idsPerRequest = 400
    static let listRoute = "/api/v1/logs"
    static let contentRoute = "/api/v1/logs/content"

    /// All chunks that may hold what is asked for, newest first.
    /// - Throws: also where the collector has no such device.
    func chunks(_ query: RemoteQuery) async throws(LogCommandError) -> [RemoteChunk] {
        var chunks: [RemoteChunk] = []
        var cursor: String?
        repeat {
            let paged = query.with("limit", "1000")
            let page: RemotePage<RemoteChunk> = try await get((cursor.map { paged.with("cursor", $0) } ?? paged).path(Self.listRoute))
            for chunk in page.items {
                guard let fault = chunk.fault else { continue }
                throw LogCommandError(
                    .failed, "\(name) lists a chunk \(LogCommandError.shown(chunk.id)) of \(fault), which no chunk has: its list is wrong")
            }
            chunks += page.items
            guard chunks.count <= Self.maximumChunks else {
                throw LogCommandError(.failed, "\(name) lists more than \(Self.maximumChunks) chunks: give --since or --until")
            }
            guard page.next == nil || page.next != cursor && !page.items.isEmpty else {
                throw LogCommandError(.failed, "\(name) repeats a page of its list for ever")
            }
            cursor = page.next
        } while cursor != nil
        if chunks.isEmpty { try await requireDevice() }
        return chunks
    }

    /// A list without anything may mean that nothing is there, or no such device.
    func requireDevice() async throws(LogCommandError) {
        struct Known: Decodable {}
        let _: Known = try await get("/api/v1/devices/\(device)")
    }
}

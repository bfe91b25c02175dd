extension CollectorClient {
    /// Lines of a log, one by one.
    func lines(_ query: RemoteQuery, order: String, _ take: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        var splitter = LineSplitter()
        try await content(query.with("order", order).path(Self.contentRoute)) { try splitter.add($0, take) }
        try splitter.finish(take)
    }
}

import FoundationEssentials
import WireModel

extension LogStore {
    /// The lines that are in the store now, in chunks of at most 5,000,000 bytes. What is logged later is not part of it; nothing is deleted.
    ///
    ///     for try await chunk in try store.fetchSDKLogChunks(device: "kiosk-7") {
    ///         try chunk.data.write(to: folder.appending(path: chunk.suggestedFileName))
    ///     }
    ///
    /// The name is that of the Workspace ONE SDK's `WS1SDKDataProvider`. Waits for the disk.
    ///
    /// - Parameters:
    ///   - device: names the device in file names; any text.
    ///   - level: this and all that is more severe.
    ///   - type: `nil`: both.
    ///   - since: from this time on; `nil`: from the beginning.
    ///   - until: to before this time; `nil`: to the end.
    ///   - isCompressed: whether chunks are gzip; sealed segments are copied then, not compressed again.
    /// - Throws: `LogStoreError`, with the first segment that cannot be read.
    public func fetchSDKLogChunks(
        device: String, level: LogLevel = .verbose, type: LogType? = nil, since: Date? = nil, until: Date? = nil, isCompressed: Bool = false
    ) throws(LogStoreError) -> LogChunks {
        flush()
        let kinds = Set([SegmentName.Kind.application, .crash].filter { type == nil || $0.type == type })
        let snapshot = try StoreSnapshot(directory, kinds: kinds, epoch: try directory.readState()?.epoch ?? .unknown)
        var problems = snapshot.problems
        let filter = LogFilter(level: level, since: since.map(Self.microseconds), until: until.map(Self.microseconds))
        let plan = try ChunkPlan(snapshot, filter: filter, problems: &problems)
        if let problem = problems.first { throw problem.error }
        return LogChunks(
            plan, in: directory, name: ChunkName(application: applicationName, device: device), form: isCompressed ? .gzip : .plain)
    }

    private static func microseconds(_ date: Date) -> Int64 { Int64((date.timeIntervalSince1970 * 1_000_000).rounded()) }
}

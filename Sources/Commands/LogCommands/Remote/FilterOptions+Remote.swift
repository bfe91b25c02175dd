extension FilterOptions {
    /// The same filter as the collector takes it.
    func query(_ collector: CollectorOptions, now: Int64 = Clock.microseconds) throws(LogCommandError) -> RemoteQuery {
        guard !ring else {
            throw LogCommandError(
                .usage,
                "--ring is for logs of this machine: a collector has those lines where a request brought them (ws1log request --ring), and shows them"
            )
        }
        return try RemoteQuery(try collector.access().device, type: type, lines: filter(now: now))
    }
}

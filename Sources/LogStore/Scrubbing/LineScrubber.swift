/// Scrub rules made ready to be applied to many lines.
final class LineScrubber: Sendable {
    /// `nil` where there is nothing to scrub.
    init?(_ scrubbing: LogScrubbing) throws(LogStoreError) {
        if scrubbing.values.isEmpty, scrubbing.patterns.isEmpty { return nil }
        throw LogStoreError(.invalid, "scrubbing is not offered yet")
    }

    func scrub(_ line: inout LineFields) {}
}

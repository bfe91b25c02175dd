import WireModel

/// Tells whether a line begins with what a pattern describes. The syntax is that of scrub patterns, so no pattern can
/// stall whoever asks.
package struct LinePattern: Sendable {
    /// Bytes at the beginning of a line that are looked at.
    private static let windowBytes = 512

    private let program: ScrubProgram

    /// - Throws: `.invalid` for a pattern that cannot be applied.
    package init(_ pattern: String) throws(LogStoreError) {
        guard (1...ProfileLimits.scrubBytes).contains(pattern.utf8.count) else {
            throw LogStoreError(
                .invalid,
                "the pattern has \(pattern.utf8.count) bytes; it must have 1 to \(ProfileLimits.scrubBytes)")
        }
        do { program = ScrubProgram(try ScrubPatternSyntax.parse(pattern)) } catch {
            throw LogStoreError(.invalid, "the pattern: \(error.message) at character \(error.position + 1)")
        }
    }

    /// - Parameter line: any bytes, without a line end.
    /// - Returns: whether a match begins at the first byte. An empty match is none.
    package func begins(_ line: UnsafeRawBufferPointer) -> Bool {
        let text = UnsafeRawBufferPointer(rebasing: line.prefix(Self.windowBytes))
        return text.withMemoryRebound(to: UInt8.self) { text in
            var machine = ScrubMachine(effort: ScrubMachine.effort(forBytes: text.count))
            return machine.first(program, in: text)?.lowerBound == 0
        }
    }
}

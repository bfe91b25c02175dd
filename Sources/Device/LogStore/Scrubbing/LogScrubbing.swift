/// What is replaced in lines before they are kept anywhere.
public struct LogScrubbing: Equatable, Sendable {
    /// Texts, exactly as they stand. Each 1 to 1,024 bytes; at most 256.
    public var values: [String]
    /// Patterns, in the syntax of a profile's `logging.scrubPatterns`. Each 1 to 1,024 bytes; at most 256.
    public var patterns: [String]

    /// Nothing by default.
    public init(values: [String] = [], patterns: [String] = []) {
        self.values = values
        self.patterns = patterns
    }
}

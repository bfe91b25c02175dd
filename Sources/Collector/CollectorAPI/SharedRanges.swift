import WireModel

/// Ranges that settings, flags and requests of the collector share.
package enum SharedRanges {
    /// Days that data is kept, that it must be old, or until something expires. 100 years are more than anybody keeps
    /// anything, and in microseconds they stay far from the end of `Int64`.
    package static let days = 1...36_500
    /// Bytes of a quota. A device sends a chunk of logs as a whole, so a smaller quota would refuse every full chunk.
    /// A petabyte is more than one machine stores; a larger number is a mistake.
    package static let quotaBytes = LogLimits.chunkBytes...petabyte
    /// The most bytes that any limit may have.
    package static let petabyte = 1_000_000_000_000_000
}

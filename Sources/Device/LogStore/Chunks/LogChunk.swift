import FoundationEssentials
import WireModel

/// Lines of a log that are fetched together: at most 5,000,000 bytes of UTF-8 text, cut at line ends.
public struct LogChunk: Sendable {
    /// The text, or the same compressed (gzip), as was asked for.
    public let data: Data
    /// `<app>-<device>-<type>-<first time UTC>-<n>of<count>.log[.gz]`, safe on any file system; sorted by name chunks are in order.
    public let suggestedFileName: String
    /// What kind of log its lines belong to.
    public let type: LogType
    /// Numbers of its first and last line in the store.
    public let lines: ClosedRange<UInt64>
    /// Length of the text, whether `data` is compressed or not.
    public let rawBytes: Int
    /// SHA-256 of `data`.
    public let digest: Data
}

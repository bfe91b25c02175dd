/// Sizes of logs that both ends and every tool keep to, in bytes.
package enum LogLimits {
    /// Text of a segment and of a chunk, at most (the Workspace ONE SDK's 5 MB, decimal).
    package static let chunkBytes = 5_000_000
    /// A line with its end, at most.
    package static let lineBytes = 65_536
    /// A category, at most.
    package static let categoryBytes = 128
    /// Text between two restart points, about; a block is whole lines.
    package static let blockBytes = 65_536
}

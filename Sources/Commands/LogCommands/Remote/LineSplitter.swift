import WireModel

/// Makes lines of pieces that end anywhere. Holds at most one line.
struct LineSplitter {
    /// A line must go into a chunk.
    static let maximumLineBytes = LogLimits.chunkBytes

    private var begun: [UInt8] = []

    /// - Parameter take: told each whole line, with its end.
    mutating func add(_ text: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        var rest = text
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = UnsafeRawBufferPointer(rebasing: rest[...end])
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            guard begun.isEmpty else {
                try hold(line)
                try begun.withUnsafeBytes(take)
                begun.removeAll(keepingCapacity: true)
                continue
            }
            try take(line)
        }
        try hold(rest)
    }

    /// The last line, where it has no end.
    mutating func finish(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        if !begun.isEmpty { try begun.withUnsafeBytes(take) }
        begun = []
    }

    private mutating func hold(_ text: UnsafeRawBufferPointer) throws(LogCommandError) {
        guard begun.count + text.count <= Self.maximumLineBytes else {
            throw LogCommandError(.failed, "the collector sent a line of more than \(Self.maximumLineBytes) bytes")
        }
        begun.append(contentsOf: text)
    }
}

/// What the program knows of its own cost that the operating system does not: since it started, as all figures of `SelfCost`.
package struct SelfFigures: Equatable, Sendable {
    /// Compressed bodies.
    package var sentBytes: UInt64?
    /// Pages of the queue's file and its log.
    package var queueWrittenBytes: UInt64?
    package var recordsMade: UInt64?
    /// Dropped for whatever reason.
    package var recordsLost: UInt64?
    /// `nil`: it keeps to its intervals.
    package var slowdown: WireSlowdown?

    package init() {}
}

/// Tells the figures of the moment; cheap, and safe from any thread.
package protocol SelfFiguresSource: Sendable {
    func selfFigures() -> SelfFigures
}

extension WireSelfCost {
    /// Adds what the operating system does not know; what is not known here either stays absent.
    package mutating func add(_ figures: SelfFigures) {
        if let bytes = figures.sentBytes { sentBytes = bytes }
        if let bytes = figures.queueWrittenBytes { queueWrittenBytes = bytes }
        if let count = figures.recordsMade { recordsMade = count }
        if let count = figures.recordsLost { recordsLost = count }
        if let slowdown = figures.slowdown { self.slowdown = slowdown }
    }
}

import WireModel

/// What a call has to know before it does anything, in one word that is read without a lock.
struct CaptureRules: Equatable, Sendable {
    /// The least severe level of the application's segments; `nil`: nothing is logged.
    var level: LogLevel?
    var hasRing: Bool
    var isScrubbing: Bool

    private static let ringBit = 8
    private static let scrubbingBit = 16

    init(level: LogLevel?, hasRing: Bool, isScrubbing: Bool) {
        self.level = level
        self.hasRing = hasRing
        self.isScrubbing = isScrubbing
    }

    init(word: Int) {
        level = LogLevel(rawValue: word & 7)
        hasRing = word & Self.ringBit != 0
        isScrubbing = word & Self.scrubbingBit != 0
    }

    var word: Int { (level?.rawValue ?? 0) | (hasRing ? Self.ringBit : 0) | (isScrubbing ? Self.scrubbingBit : 0) }

    /// Whether a line goes anywhere at all.
    @inline(__always)
    static func takes(_ level: LogLevel, _ word: Int) -> Bool {
        level.rawValue <= word & 7 || word & ringBit != 0 && word & 7 != 0
    }

    @inline(__always)
    static func isRing(_ level: LogLevel, _ word: Int) -> Bool { level.rawValue > word & 7 }

    @inline(__always)
    static func isScrubbing(_ word: Int) -> Bool { word & scrubbingBit != 0 }
}

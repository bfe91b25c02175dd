import Glibc

/// How far long work is, on a terminal; elsewhere nothing.
struct ProgressLine {
    private static let barWidth = 30
    /// Ten times a second is enough for an eye.
    private static let pauseNanoseconds: UInt64 = 100_000_000

    private let isShown: Bool
    private var lastShown: UInt64 = 0
    private var isOnScreen = false

    /// - Parameter isShown: whether it may be, where standard error is a terminal.
    init(isShown: Bool) { self.isShown = isShown && isatty(STDERR_FILENO) == 1 }

    mutating func show(_ done: Int, of all: Int, _ what: String) {
        let now = Clock.monotonicNanoseconds
        guard isShown, all > 0, now - lastShown >= Self.pauseNanoseconds || done == all else { return }
        lastShown = now
        isOnScreen = true
        let filled = Self.barWidth * done / all
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.barWidth - filled)
        StandardError.write("\r[\(bar)] \(done) of \(all) \(what)\u{1B}[K")
    }

    mutating func clear() {
        if isOnScreen { StandardError.write("\r\u{1B}[K") }
        isOnScreen = false
    }
}

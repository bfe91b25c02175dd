import CommandKit
import Glibc
import TelemetryBasics
import WireModel

/// Shows on a terminal how far long work is. Elsewhere it shows nothing.
struct ProgressLine {
    private static let barWidth = 30
    /// A person needs no more than ten updates a second.
    private static let pauseNanoseconds: Int64 = 100_000_000

    private let isShown: Bool
    private var lastShown: Int64 = 0
    private var isOnScreen = false

    /// - Parameter isShown: `false` shows nothing, even if standard error is a terminal. A dumb terminal shows nothing.
    init(isShown: Bool) { self.isShown = isShown && Terminal.obeysEscapes(STDERR_FILENO) }

    mutating func show(_ done: Int, of all: Int, _ what: String) {
        guard all > 0 else { return }
        show(Double(done) / Double(all), "\(done) of \(all) \(what)")
    }

    /// - Parameter fraction: 0 to 1.
    mutating func show(_ fraction: Double, _ text: String) {
        let now = SystemClock.monotonicNanoseconds()
        guard isShown, now - lastShown >= Self.pauseNanoseconds || fraction >= 1 else { return }
        lastShown = now
        isOnScreen = true
        let filled = Int(Double(Self.barWidth) * min(max(fraction, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.barWidth - filled)
        StandardError.write("\r[\(bar)] \(text.escapingControlCharacters)\u{1B}[K")
    }

    mutating func clear() {
        if isOnScreen { StandardError.write("\r\u{1B}[K") }
        isOnScreen = false
    }
}

import FoundationEssentials
import Glibc

/// The properties of a terminal that our programs know.
package enum Terminal {
    /// Whether escape sequences have effect on a descriptor: colours, and lines that are written again. A dumb
    /// terminal, as in Emacs or some build servers, shows them as text.
    package static func obeysEscapes(_ descriptor: Int32) -> Bool {
        obeysEscapes(isTerminal: isatty(descriptor) == 1, type: ProcessInfo.processInfo.environment["TERM"])
    }

    /// - Parameter type: `TERM`; without it the terminal counts as dumb.
    static func obeysEscapes(isTerminal: Bool, type: String?) -> Bool {
        isTerminal && !(type ?? "").isEmpty && type != "dumb"
    }
}

extension StringProtocol {
    /// The columns of a terminal that the text fills. Characters of East Asia and emoji fill two, combining marks none.
    package var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Character {
    fileprivate var columns: Int {
        if unicodeScalars.contains(where: \.properties.isEmojiPresentation) { return 2 }
        return unicodeScalars.reduce(0) { $0 + $1.columns }
    }
}

extension Unicode.Scalar {
    /// Wide and fullwidth characters of Unicode's `EastAsianWidth.txt` other than emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4C6, 0xA960...0xA97C,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18D08, 0x1AFF0...0x1B2FB, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]

    fileprivate var columns: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return Self.wide.contains { $0.contains(value) } ? 2 : 1
        }
    }
}

/// What a pattern means that `ScrubPatternSyntax` has read.
package indirect enum ScrubPattern: Equatable, Sendable {
    /// A place between two characters, or before the first or after the last.
    package enum Border: Equatable, Sendable {
        /// Of the text.
        case start
        case end
        /// Between a word character and another, or none.
        case word
        case noWord
    }

    case character(ScrubCharacters)
    case border(Border)
    case sequence([ScrubPattern])
    /// The first that leads to a match is taken.
    case alternatives([ScrubPattern])
    /// - most: `nil` for no limit.
    /// - isLazy: as few as possible rather than as many.
    case repeated(ScrubPattern, least: Int, most: Int?, isLazy: Bool)

    /// Characters and borders once its counts are written out.
    package var size: Int {
        switch self {
        case .character, .border: 1
        case .sequence(let parts), .alternatives(let parts): parts.reduce(0) { Self.bounded($0 + $1.size) }
        // A group of nothing has a size as well, or a pattern could have any number of them.
        case .repeated(let part, let least, let most, _): Self.bounded(max(1, part.size) * max(1, most ?? least))
        }
    }

    private static func bounded(_ size: Int) -> Int { min(size, 1 << 30) }
}

extension Duration {
    /// Whole microseconds; negative ones are 0, and what is over 30 years is 30 years, so that sums with a clock cannot overflow.
    var wholeMicroseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        guard seconds < 1_000_000_000 else { return 1_000_000_000 * 1_000_000 }
        return UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    }
}

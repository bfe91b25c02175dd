/// Records `first...last` left their stream at its front for one reason; the chain goes on over them from `link`.
package struct Gap: Hashable, Sendable {
    package let first: UInt64
    package let last: UInt64
    package let reason: DropReason
    /// `link(last)`.
    package let link: ChainLink

    package init(first: UInt64, last: UInt64, reason: DropReason, link: ChainLink) {
        self.first = first
        self.last = last
        self.reason = reason
        self.link = link
    }

    package var count: UInt64 { last - first + 1 }

    /// This gap and the one right behind it as one, or `nil` where they do not touch or differ in reason:
    /// only neighbours with the same reason merge.
    package func merged(with next: Gap) -> Gap? {
        guard next.first == last + 1, next.reason == reason else { return nil }
        return Gap(first: first, last: next.last, reason: reason, link: next.link)
    }
}

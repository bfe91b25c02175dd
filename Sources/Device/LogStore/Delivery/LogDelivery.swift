import WireModel

/// What became of lines that were handed over; each is counted once.
package struct LogDelivery: Codable, Equatable, Sendable {
    /// With the kernel, in the log.
    package var written: UInt64 = 0
    /// With the kernel, in the ring: less severe than the level in force.
    package var ring: UInt64 = 0
    /// Nowhere: less severe than the level in force, or nothing is written now.
    package var filtered: UInt64 = 0
    /// Could not be written.
    package var lost: UInt64 = 0
    /// The name of the level in force; `nil`: nothing is written now.
    package var level: String?
    /// Why lines were lost.
    package var reason: String?
    /// They were lost for want of room, which may be there later.
    package var isTransient = false

    package init(level: LogLevel?) { self.level = level?.name }

    package static func += (left: inout LogDelivery, right: LogDelivery) {
        left.written += right.written
        left.ring += right.ring
        left.filtered += right.filtered
        left.lost += right.lost
        left.level = right.level
        left.reason = right.reason ?? left.reason
        left.isTransient = right.isTransient || left.isTransient
    }
}

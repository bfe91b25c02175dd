/// Whether the disk is getting full. Pure. It is low below a threshold, and enough again a tenth above it, so that it does not go back and
/// forth with every file that is written.
package enum DiskState: Equatable, Sendable {
    case enough
    case low

    /// - Parameter former: `nil`: not looked yet.
    package static func next(after former: DiskState?, freeBytes: UInt64, lowBytes: UInt64) -> DiskState {
        if freeBytes < lowBytes { return .low }
        return former == .low && freeBytes < lowBytes + lowBytes / 10 ? .low : .enough
    }
}

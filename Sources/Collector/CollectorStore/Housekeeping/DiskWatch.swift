import Synchronization

/// Raises a notice when the disk is getting full, before anything is refused for it, and ends it when there is room again. Keeps the
/// reserve (`DiskReserve`) there.
package final class DiskWatch: Sendable {
    private let notices: NoticeService
    private let path: String
    private let lowBytes: UInt64
    private let reserve: DiskReserve
    private let freeBytes: @Sendable () -> UInt64?
    private let state = Mutex<DiskState?>(nil)

    /// - Parameters:
    ///   - lowBytes: below so many free bytes it is told; 0: never.
    ///   - freeBytes: what an ordinary user may still write; `nil` where the system does not say. The data directory's by default.
    package init(
        directory: String, lowBytes: UInt64, notices: NoticeService, freeBytes: (@Sendable () -> UInt64?)? = nil
    ) {
        self.notices = notices
        self.lowBytes = lowBytes
        path = directory
        reserve = DiskReserve(directory: DataDirectory(path: directory))
        self.freeBytes = freeBytes ?? { DataDirectory(path: directory).disk?.freeBytes }
    }

    package func look() async {
        reserve.hold()
        guard let free = freeBytes() else { return }
        let change: DiskState? = state.withLock { state in
            let next = DiskState.next(after: state, freeBytes: free, lowBytes: lowBytes)
            defer { state = next }
            return next == state ? nil : next
        }
        switch change {
        case .low:
            await notices.raise(
                .diskLow, subject: path,
                detail:
                    "\(free) bytes are free for \(path), less than \(lowBytes). Free disk space, or keep less: when it is full nothing is "
                    + "stored, and devices keep their records until there is room.")
        case .enough: await notices.end(.diskLow, subject: path)
        case nil: break
        }
    }
}

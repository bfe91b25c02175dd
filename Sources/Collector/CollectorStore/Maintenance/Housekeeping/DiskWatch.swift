import Glibc
import Synchronization
import TelemetryBasics

/// Raises a notice before the disk is full and ends it when there is room again. Also keeps the `DiskReserve`.
package final class DiskWatch: Sendable {
    private let notices: NoticeService
    private let path: String
    private let lowBytes: UInt64
    private let reserve: DiskReserve
    private let freeBytes: @Sendable () -> UInt64?
    private let state = Mutex<DiskState?>(nil)

    /// - Parameters:
    ///   - lowBytes: below so many free bytes it is told; 0: never.
    ///   - freeBytes: what an ordinary user may still write; `nil` where the system does not say. The data directory's
    ///     by default.
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

/// Whether the disk is getting full. Pure. It is low below a threshold and enough again a tenth above it, so it does
/// not flap with every file that is written.
package enum DiskState: Equatable, Sendable {
    case enough
    case low

    /// - Parameter former: `nil`: not looked yet.
    package static func next(after former: DiskState?, freeBytes: UInt64, lowBytes: UInt64) -> DiskState {
        if freeBytes < lowBytes { return .low }
        return former == .low && freeBytes < lowBytes + lowBytes / 10 ? .low : .enough
    }
}

/// Disk space kept for deleting: a removal is written down before it is done, which a full disk would refuse.
///
/// `<data>/reserve` is a file without content. A removal that fails for want of room deletes the file and is tried once
/// more. The file is made again when there is room. Other writers may take the room first; then the next removal tries
/// again.
struct DiskReserve: Sendable {
    private let path: String
    private let directory: DataDirectory

    static let bytes: UInt64 = 8 << 20
    /// The file is made only where this many times its size is free.
    static let leastTimesFree: UInt64 = 4

    init(directory: DataDirectory) {
        self.directory = directory
        path = directory.path + "/reserve"
    }

    /// Makes the file if it is missing and there is room. A failure leaves the collector without a reserve.
    func hold() {
        guard !Paths.exists(path), let free = directory.disk?.freeBytes,
            free >= Self.leastTimesFree * Self.bytes
        else { return }
        guard let file = try? OpenFile<StoreError>(creating: path) else { return }
        if posix_fallocate(file.descriptor, 0, off_t(Self.bytes)) != 0 { unlink(path) }
    }

    /// - Returns: whether another try is worth it: the disk was full, and the reserve was there to be freed.
    func giveUp(for error: StoreError) -> Bool {
        error.code == .diskFull && unlink(path) == 0
    }
}

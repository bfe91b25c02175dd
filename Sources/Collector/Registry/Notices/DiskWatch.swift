import Glibc
import RecordStore
import Synchronization
import TelemetryBasics

/// Raises a notice before the disk is full, and ends it when there is room again. Also keeps the `DiskReserve`.
package final class DiskWatch: Sendable {
    private let notices: NoticeService
    private let path: String
    private let lowBytes: UInt64
    private let reserve: DiskReserve
    private let freeBytes: @Sendable () -> UInt64?
    /// The state as its notice says; `nil` until one was written or ended.
    private let state = Mutex<DiskState?>(nil)

    /// - Parameters:
    ///   - lowBytes: the notice is raised below this many free bytes; 0 for never.
    ///   - freeBytes: returns the bytes an ordinary user may still write; `nil` if unknown. The default is for the data
    ///     directory.
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
        let former = state.withLock { $0 }
        let next = DiskState.next(after: former, freeBytes: free, lowBytes: lowBytes)
        guard next != former else { return }
        let isReported =
            switch next {
            case .low:
                await notices.raise(
                    .diskLow, subject: path,
                    detail:
                        """
                        \(free) bytes are free for \(path), less than \(lowBytes). Free disk space, or keep less. On a \
                        full disk nothing is stored, and devices keep their records.
                        """)
            case .enough: await notices.end(.diskLow, subject: path)
            }
        // A full disk refuses the notice itself. Then the next look tries again.
        if isReported { state.withLock { $0 = next } }
    }
}

/// Whether the disk is getting full. Pure. It is low below a threshold and enough again a tenth above it, so it does
/// not flicker with every file.
package enum DiskState: Equatable, Sendable {
    case enough
    case low

    /// - Parameter former: `nil` before the first check.
    package static func next(after former: DiskState?, freeBytes: UInt64, lowBytes: UInt64) -> DiskState {
        if freeBytes < lowBytes { return .low }
        return former == .low && freeBytes < lowBytes + lowBytes / 10 ? .low : .enough
    }
}

/// Disk space reserved for deleting. A removal is recorded before it is done, which a full disk would refuse.
///
/// `<data>/reserve` is a file without content. If a removal fails for lack of room, the file is deleted and the removal
/// is tried again. The file is made again when there is room. Other writers may use the room first; then the next
/// removal tries again.
package struct DiskReserve: Sendable {
    private let path: String
    private let directory: DataDirectory

    package static let bytes: UInt64 = 8 << 20
    /// The file is made only if this many times its size is free.
    static let leastTimesFree: UInt64 = 4

    package init(directory: DataDirectory) {
        self.directory = directory
        path = directory.path + "/reserve"
    }

    /// Makes the file if it is missing and there is room. After a failure the collector has no reserve.
    package func hold() {
        guard !Paths.exists(path), let free = directory.disk?.freeBytes,
            free >= Self.leastTimesFree * Self.bytes
        else { return }
        guard let file = try? OpenFile<StoreError>(creating: path) else { return }
        if posix_fallocate(file.descriptor, 0, off_t(Self.bytes)) != 0 { unlink(path) }
    }

    /// - Returns: whether another attempt may succeed: the disk was full, and the reserve could be freed.
    package func giveUp(for error: StoreError) -> Bool {
        error.code == .diskFull && unlink(path) == 0
    }
}

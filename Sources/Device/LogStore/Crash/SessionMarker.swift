import Glibc
import WireModel

/// The marker of a session that runs: `<ordinal>.session`, held with `flock` until it goes. Safe from one thread at a time.
final class SessionMarker {
    static let suffix = ".session"
    /// A program that runs for years begins many segments; only the last ones are ever read.
    private static let maximumBytes = 64 * 1024

    let ordinal: UInt64
    private let directory: StoreDirectory
    private let file: StoreFile
    private let head: String
    private var bytes = 0

    static func name(_ ordinal: UInt64) -> String { SegmentName.digits(ordinal) + suffix }

    /// Reads the ordinal of a marker's name; `nil` for another file.
    static func ordinal(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), let ordinal = UInt64(name.dropLast(suffix.count)), Self.name(ordinal) == name else { return nil }
        return ordinal
    }

    /// Takes an ordinal, which is that of the session's crash log if there ever is one.
    init(_ record: SessionRecord, in directory: StoreDirectory) throws(LogStoreError) {
        self.directory = directory
        head = record.text
        // Held when the store's lock is let go, under which others look for crashes.
        let made = try directory.withState { (state) throws(LogStoreError) in
            let ordinal = state.next
            state.next += 1
            let path = directory.path(Self.name(ordinal))
            let descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw LogStoreError.system("creating", path) }
            GroupAccess.handOn(descriptor, path)
            return (ordinal: ordinal, descriptor: descriptor, path: path)
        }
        ordinal = made.ordinal
        file = StoreFile(descriptor: made.descriptor, path: made.path)
        try file.write(Array(head.utf8))
        bytes = head.utf8.count
    }

    deinit { flock(file.descriptor, LOCK_UN) }

    /// A segment was begun. Where it cannot be noted the crash log has fewer last lines, nothing else.
    func began(segment ordinal: UInt64) {
        let line = SessionRecord.segmentLine(ordinal)
        if bytes + line.utf8.count > Self.maximumBytes {
            guard ftruncate(file.descriptor, 0) == 0, (try? file.write(Array(head.utf8))) != nil else { return }
            bytes = head.utf8.count
        }
        if (try? file.write(Array(line.utf8))) != nil { bytes += line.utf8.count }
    }

    /// The session ended as it should.
    func close() { try? directory.remove(Self.name(ordinal)) }
}

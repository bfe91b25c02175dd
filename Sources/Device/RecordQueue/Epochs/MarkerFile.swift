import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// `queue.epoch`: the current epoch and the last numbers given, outside the database.
///
/// **What it is for.** SQLite reads a WAL up to the first frame that does not fit, and says nothing of the rest. After
/// a damaged, cut or removed WAL the queue would give the lost numbers to other records. If this file names a greater
/// number than the database, the queue is salvaged (Salvage.swift) and goes on in a new epoch.
///
/// **Layout.** Two slots of 512 bytes. Each is one line of text, padded with spaces and ended by a line feed:
///
///     ws1-queue 1 <sequence> <epoch> <ordinal> <status> <event> <sample> <checksum>
///
/// A stream is `last/link`. The number after the name is the version. A slot of another version counts as damaged.
///
/// **Writing.** A commit that gave a number is followed by a write in place, over the older slot. The WAL is synced by
/// then, so the marker is never ahead of a whole database. The first marker of a new queue follows the commit that
/// makes its tables and names its epoch. A checkpoint before that writes none. The marker is synced with each
/// checkpoint, when an epoch begins, and when the queue closes. The valid slot with the greater sequence counts.
///
/// Documentation/disk-formats.md says what can go wrong, and Documentation/decisions/marker-file.md the alternatives.
final class MarkerFile {
    static let slotBytes = 512
    private static let magic = "ws1-queue"
    private static let version = "1"

    /// The content of the file, or what it would be if writing had not failed.
    private(set) var marker: EpochMarker?
    private let directory: String
    private var path: String { "\(directory)/\(QueueFile.markerName)" }
    private var sequence: UInt64 = 0
    /// Opened by the first write.
    private var descriptor: Int32 = -1
    private var isSynced = true

    /// Reads the file. A file that cannot be read counts as empty.
    init(directory: String) {
        self.directory = directory
        let file = try? Files<QueueError>.read(
            "\(directory)/\(QueueFile.markerName)", maximumBytes: 2 * Self.slotBytes, flags: O_NOFOLLOW)
        guard let bytes = file else { return }
        let count = bytes.count
        let slots = [0, Self.slotBytes].compactMap {
            Self.parse(bytes[min($0, count)..<min($0 + Self.slotBytes, count)])
        }
        if let newest = slots.max(by: { $0.sequence < $1.sequence }) {
            (sequence, marker) = (newest.sequence, newest.marker)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Writes the marker if it differs.
    /// - Parameter syncing: whether it must be on synced disk when this returns.
    func write(_ marker: EpochMarker, syncing: Bool) throws(QueueError) {
        if marker != self.marker {
            isSynced = false
            try openForWriting()
            let line = Self.line(marker, sequence: sequence + 1)
            let offset = off_t((sequence + 1) % 2) * off_t(Self.slotBytes)
            guard retryingOnInterrupt({ pwrite(descriptor, line, line.count, offset) }) == line.count else {
                throw QueueError(FileError("writing", path))
            }
            sequence += 1
            self.marker = marker
        }
        guard syncing, !isSynced else { return }
        guard descriptor < 0 || retryingOnInterrupt({ fdatasync(descriptor) }) == 0 else {
            throw QueueError(FileError("syncing", path))
        }
        isSynced = true
    }

    /// Writes the marker into both slots, so that nothing of a former one is left.
    func rewrite(_ marker: EpochMarker) throws(QueueError) {
        for _ in 0..<2 {
            self.marker = nil
            try write(marker, syncing: true)
        }
    }

    private func openForWriting() throws(QueueError) {
        guard descriptor < 0 else { return }
        let isNew = !Paths.exists(path)
        descriptor = retryingOnInterrupt { open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard descriptor >= 0 else { throw QueueError(FileError("opening", path)) }
        if isNew { try Files<QueueError>.sync(directory: directory) }
    }

    // MARK: - Format

    private static func line(_ marker: EpochMarker, sequence: UInt64) -> [UInt8] {
        var words = [magic, version, "\(sequence)", "\(marker.epoch)", "\(marker.ordinal)"]
        for stream in StreamName.allCases {
            let known = marker.streams[stream] ?? EpochMarker.Stream()
            words.append("\(known.last)/\(known.link)")
        }
        let text = words.joined(separator: " ")
        var bytes = Array("\(text) \(checksum(text))".utf8)
        bytes += [UInt8](repeating: 0x20, count: max(0, slotBytes - 1 - bytes.count))
        return bytes + [0x0A]
    }

    private static func checksum(_ text: String) -> ChainLink { ChainLink.zero.appending(Data(text.utf8)) }

    private static func parse(_ slot: ArraySlice<UInt8>) -> (sequence: UInt64, marker: EpochMarker)? {
        guard slot.count == slotBytes else { return nil }
        let words = String(decoding: slot, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 6 + StreamName.allCases.count, words[0] == magic,
            words[1] == version,
            words.last.map(String.init) == checksum(words.dropLast().joined(separator: " ")).description,
            let sequence = UInt64(words[2]), sequence < .max, let epoch = EpochID(String(words[3])),
            let ordinal = Int64(words[4]), ChainCode.foundOrdinals.contains(ordinal)
        else { return nil }
        var streams: [StreamName: EpochMarker.Stream] = [:]
        for (stream, word) in zip(StreamName.allCases, words[5...]) {
            guard let known = EpochMarker.Stream(word) else { return nil }
            streams[stream] = known
        }
        return (sequence, EpochMarker(epoch: epoch, ordinal: ordinal, streams: streams))
    }
}

extension EpochMarker.Stream {
    fileprivate init?(_ word: Substring) {
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let last = UInt64(parts[0]), last <= BatchPart.greatestNumber,
            let link = Identifier<Never>(String(parts[1])).flatMap({ ChainLink($0.data) })
        else { return nil }
        self.init(last: last, link: link)
    }
}

/// The current epoch and the last numbers it assigned, as stored in `queue.epoch`. It shows what is missing if the
/// database is unreadable, gone, or has lost its newest commits.
struct EpochMarker: Equatable, Sendable {
    /// One stream.
    struct Stream: Equatable, Sendable {
        /// The last number assigned.
        var last: UInt64 = 0
        /// Its link.
        var link = ChainLink.zero
    }

    var epoch: EpochID
    var ordinal: Int64
    var streams: [StreamName: Stream]
}

extension EpochMarker {
    /// - Parameter isSealing: leaves the links out.
    init(_ state: QueueState, isSealing: Bool) {
        var streams: [StreamName: Stream] = [:]
        for stream in StreamName.allCases {
            // A plain link would confirm a guess of a short record.
            streams[stream] = Stream(
                last: state[stream].last, link: isSealing ? .zero : state[stream].lastLink)
        }
        self.init(epoch: state.epoch, ordinal: state.ordinal, streams: streams)
    }

    /// The marker of a directory; `nil` if there is none or it is unreadable.
    init?(in directory: String) {
        guard let marker = MarkerFile(directory: directory).marker else { return nil }
        self = marker
    }

    /// Describes the commits that the marker names and the database lacks; `nil` if nothing is missing. The marker is
    /// written after its commit, so it is never ahead of a whole database.
    /// - Parameter found: the marker that the database would have.
    func finding(against found: EpochMarker) -> String? {
        if ordinal > found.ordinal {
            return
                "\(QueueFile.markerName) names epoch \(epoch), the file's epoch number \(ordinal), but "
                + "the file has only "
                + "\(found.ordinal); the last commits are missing: \(Self.cause)"
        }
        // A marker of an earlier epoch is only late. One of another history says nothing about this file.
        guard ordinal == found.ordinal, epoch == found.epoch else { return nil }
        let missing = streams.sorted { $0.key < $1.key }.compactMap { stream, known -> String? in
            let last = found.streams[stream]?.last ?? 0
            guard known.last > last else { return nil }
            return "\(known.last - last) of stream \(stream) (its last number was \(known.last) and is \(last))"
        }
        guard !missing.isEmpty else { return nil }
        return
            "\(QueueFile.markerName) names records that are missing, \(missing.joined(separator: ", ")): \(Self.cause)"
    }

    private static let cause =
        "\(QueueFile.databaseName)-wal was damaged, cut or removed, or an older copy of the file was put in its place"
}

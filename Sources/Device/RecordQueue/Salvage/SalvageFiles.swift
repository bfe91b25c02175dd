import DeviceTunables
import SQLite
import TelemetryBasics
import WireModel

import Glibc

/// The files of a salvage: their names and how they move.
struct SalvageFiles {
    let directory: String

    static let newName = "new.sqlite"

    var database: String { "\(directory)/\(QueueFile.databaseName)" }
    var salvaging: String { "\(directory)/\(QueueFile.salvagingName)" }
    var corruptDatabase: String { "\(salvaging)/\(QueueFile.databaseName)" }
    private var new: String { "\(salvaging)/\(Self.newName)" }

    /// Why an interrupted salvage must continue; `nil` if there is none, or it was practically finished.
    func unfinished() throws(QueueError) -> String? {
        guard Paths.exists(salvaging) else { return nil }
        if Paths.exists(corruptDatabase), Paths.exists(database) {
            try publish(as: try nextAside(at: 0))
            return nil
        }
        return "a salvage was interrupted"
    }

    /// Why an empty or missing file does not mean a first start; `nil` if it does, or if the file exists.
    func missing() -> String? {
        guard (Paths.size(of: database) ?? 0) == 0 else { return nil }
        let what = Paths.exists(database) ? "is empty" : "is missing"
        if EpochMarker(in: directory) != nil {
            return "\(database) \(what), but \(QueueFile.markerName) names its epoch"
        }
        guard RawPages(database: database, wal: database + "-wal").hasCommittedFrames else { return nil }
        return "\(database) \(what), but its WAL is not"
    }

    /// Whether the file may really be of a newer version, and its header is not just damaged.
    var isVersionPlausible: Bool {
        let pages = RawPages(database: database, wal: database + "-wal")
        var page = [UInt8](repeating: 0, count: QueueFile.pageBytes)
        guard pages.read(1, into: &page) else { return false }
        return page.number32(60) <= UInt32(QueueFile.greatestVersion)
    }

    /// Moves the corrupt file and its WAL into `queue.salvaging/` if they are not there yet, and removes what an
    /// earlier attempt left.
    /// - Returns: the name under which it will be kept.
    func moveAside(at wallTime: Int64) throws(QueueError) -> String {
        let name = try nextAside(at: wallTime)
        try Files<QueueError>.makeDirectory(salvaging, syncing: false)
        if !Paths.exists(corruptDatabase), Paths.exists(database) {
            try Files<QueueError>.rename(database, to: corruptDatabase)
        }
        if !Paths.exists(corruptDatabase + "-wal"), Paths.exists(database + "-wal") {
            try Files<QueueError>.rename(database + "-wal", to: corruptDatabase + "-wal")
        }
        // For the case that only a WAL exists.
        if !Paths.exists(corruptDatabase) { close(open(corruptDatabase, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) }
        for leftover in [new, new + "-wal", new + "-journal"] { unlink(leftover) }
        try Files<QueueError>.sync(directory: salvaging)
        try Files<QueueError>.sync(directory: directory)
        return name
    }

    /// Moves the new file into place and keeps the old one.
    func publish(as name: String) throws(QueueError) {
        if Paths.exists(new) {
            // The WAL's content is in the file, because the store was closed.
            unlink(new + "-wal")
            try Files<QueueError>.rename(new, to: database)
            try Files<QueueError>.sync(directory: directory)
        }
        unlink(new + "-wal")
        unlink("\(salvaging)/\(QueueFile.markerName)")
        try Files<QueueError>.rename(salvaging, to: "\(directory)/\(name)")
        try Files<QueueError>.sync(directory: directory)
        for old in kept.dropLast(Tunables.Queue.keptCorruptFiles) { remove(old) }
    }

    /// The corrupt files that are kept, oldest first.
    var kept: [String] {
        let names = ((try? Files<QueueError>.names(in: directory)) ?? []).filter {
            $0.hasPrefix(QueueFile.corruptPrefix)
        }
        // Sorted by the leading number, because the clock may have been wrong.
        return names.sorted { (Self.ordinal($0), $0) < (Self.ordinal($1), $1) }
    }

    /// `queue.corrupt-<n>-<UTC time>`.
    private func nextAside(at wallTime: Int64) throws(QueueError) -> String {
        let time = Timestamp.text(wallTime).prefix(19).filter { $0 != "-" && $0 != ":" }
        return "\(QueueFile.corruptPrefix)\((kept.last.map { Self.ordinal($0) } ?? 0) + 1)-\(time)Z"
    }

    /// The leading number. One is added to it for the next name, so the greatest is not used.
    private static func ordinal(_ name: String) -> Int {
        min(Int(name.dropFirst(QueueFile.corruptPrefix.count).prefix { $0.isNumber }) ?? 0, .max - 1)
    }

    private func remove(_ name: String) {
        for file in Self.corruptNames { unlink("\(directory)/\(name)/\(file)") }
        rmdir("\(directory)/\(name)")
    }

    /// Removes all corrupt files. A directory in which somebody put something else stays.
    func eraseKept() throws(QueueError) {
        let kept = kept
        guard !kept.isEmpty else { return }
        for name in kept {
            for file in Self.corruptNames { try Files<QueueError>.remove("\(directory)/\(name)/\(file)") }
            rmdir("\(directory)/\(name)")
        }
        try Files<QueueError>.sync(directory: directory)
    }

    private static let corruptNames = [QueueFile.databaseName, "\(QueueFile.databaseName)-wal", QueueFile.markerName]
}

extension RawPages {
    /// The pages of a queue's file with its WAL.
    convenience init(database: String, wal: String) {
        self.init(database: database, wal: wal, pageBytes: QueueFile.pageBytes)
    }
}

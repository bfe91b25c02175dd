import SQLite
import TelemetryBasics
import WireModel

import Glibc

/// The files of a salvage: where they lie and how they move.
struct SalvageFiles {
    let directory: String

    static let newName = "new.sqlite"

    var database: String { "\(directory)/\(QueueFile.databaseName)" }
    var salvaging: String { "\(directory)/\(QueueFile.salvagingName)" }
    var corruptDatabase: String { "\(salvaging)/\(QueueFile.databaseName)" }
    private var new: String { "\(salvaging)/\(Self.newName)" }

    /// Why a salvage has to go on that a crash has cut short; `nil`: there is none, or it was as good as done.
    func unfinished() throws(QueueError) -> String? {
        guard Self.exists(salvaging) else { return nil }
        if Self.exists(corruptDatabase), Self.exists(database) {
            try publish(as: try nextAside(at: 0))
            return nil
        }
        return "a salvage was cut short"
    }

    /// Why an empty or missing file is not that of a first start; `nil`: it is, or the file is there.
    func missing() -> String? {
        guard Self.size(database) == 0 else { return nil }
        let what = Self.exists(database) ? "is empty" : "is missing"
        if EpochMarker(in: directory) != nil {
            return "\(database) \(what), but \(QueueFile.markerName) names its epoch"
        }
        guard RawPages(database: database, wal: database + "-wal").hasCommittedFrames else { return nil }
        return "\(database) \(what), but its WAL is not"
    }

    /// Whether the file may really be of a newer version, and its head is not just damaged.
    var isVersionPlausible: Bool {
        let pages = RawPages(database: database, wal: database + "-wal")
        var page = [UInt8](repeating: 0, count: QueueFile.pageBytes)
        guard pages.read(1, into: &page) else { return false }
        return page.number32(60) <= UInt32(QueueFile.greatestVersion)
    }

    /// Moves the corrupt file and its WAL into `queue.salvaging/`, where they are not there yet, and clears what an
    /// earlier attempt left.
    /// - Returns: the name under which it is to be kept.
    func moveAside(at wallTime: Int64) throws(QueueError) -> String {
        let name = try nextAside(at: wallTime)
        if mkdir(salvaging, 0o700) != 0, errno != EEXIST { throw Self.failure("make", salvaging, errno) }
        if !Self.exists(corruptDatabase), Self.exists(database) { try Self.move(database, to: corruptDatabase) }
        if !Self.exists(corruptDatabase + "-wal"), Self.exists(database + "-wal") {
            try Self.move(database + "-wal", to: corruptDatabase + "-wal")
        }
        // Where only a WAL was there.
        if !Self.exists(corruptDatabase) { close(open(corruptDatabase, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) }
        for leftover in [new, new + "-wal", new + "-journal"] { unlink(leftover) }
        try Self.sync(salvaging)
        try Self.sync(directory)
        return name
    }

    /// Puts the new file in its place and keeps the old one aside.
    func publish(as name: String) throws(QueueError) {
        if Self.exists(new) {
            // Everything in the WAL is in the file: the store was closed.
            unlink(new + "-wal")
            try Self.move(new, to: database)
            try Self.sync(directory)
        }
        unlink(new + "-wal")
        unlink("\(salvaging)/\(QueueFile.markerName)")
        try Self.move(salvaging, to: "\(directory)/\(name)")
        try Self.sync(directory)
        for old in kept.dropLast(QueueFile.keptCorruptFiles) { remove(old) }
    }

    /// The corrupt files kept aside, oldest first.
    var kept: [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(QueueFile.corruptPrefix) { names.append(name) }
        }
        // By the number in front: the clock may have been wrong.
        return names.sorted { (Self.ordinal($0), $0) < (Self.ordinal($1), $1) }
    }

    /// `queue.corrupt-<n>-<UTC time>`.
    private func nextAside(at wallTime: Int64) throws(QueueError) -> String {
        let time = Timestamp.text(wallTime).prefix(19).filter { $0 != "-" && $0 != ":" }
        return "\(QueueFile.corruptPrefix)\((kept.last.map { Self.ordinal($0) } ?? 0) + 1)-\(time)Z"
    }

    private static func ordinal(_ name: String) -> Int {
        Int(name.dropFirst(QueueFile.corruptPrefix.count).prefix { $0.isNumber }) ?? 0
    }

    private func remove(_ name: String) {
        for file in [QueueFile.databaseName, "\(QueueFile.databaseName)-wal", QueueFile.markerName] {
            unlink("\(directory)/\(name)/\(file)")
        }
        rmdir("\(directory)/\(name)")
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// 0 where there is none.
    private static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    private static func move(_ path: String, to target: String) throws(QueueError) {
        guard rename(path, target) == 0 else { throw failure("move", path, errno) }
    }

    private static func sync(_ directory: String) throws(QueueError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", directory, errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("sync", directory, errno) }
    }

    private static func failure(_ operation: String, _ path: String, _ systemError: Int32) -> QueueError {
        QueueError(
            systemError == ENOSPC || systemError == EDQUOT ? .diskFull : .io,
            "\(operation) \(path) while salvaging: \(String(cString: strerror(systemError))). Check the directory and its file system."
        )
    }
}

extension RawPages {
    /// The pages of a queue's file and its WAL.
    convenience init(database: String, wal: String) {
        self.init(database: database, wal: wal, pageBytes: QueueFile.pageBytes)
    }
}

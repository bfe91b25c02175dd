import Glibc
import RecordStore
import SQLite
import TelemetryBasics
import WireModel

/// The collector's data directory: the one place that knows its names.
///
///     <data>/lock               held by the metadata service of a serving collector
///     <data>/collector.sqlite   metadata and baseline
///     <data>/reserve            space for deleting when the disk is full
///     <data>/balance.json       what was found in record files that nobody writes to any more (`ChainFollower`)
///     <data>/verify.json        the last result of `ws1collector verify`
///     <data>/moved.json         the cluster that has imported everything; nothing is written here any more
///     <data>/backup/            copies of databases while an encrypted backup is written (`EncryptedBackupFile`)
///     <data>/enrollment-token, administrator-token         of the first start; made by `ws1collector serve`
///     <data>/records/lock       held by the record store
///     <data>/records/<UTC day>/<stream>.sqlite
///     <data>/records/packing/<UTC day>-<stream>/           while a record file is packed
///     <data>/records/salvaging/<UTC day>-<stream>/         while a damaged record file is replaced
///     <data>/records/damaged/<UTC day>-<stream>-<time>/    damaged record files, after they were replaced
///     <data>/chunks/lock         held by the log archive
///     <data>/chunks/<organization>/<application>/<device>/<upload>-<number>.log.gz
package struct DataDirectory: Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    package var lockPath: String { "\(path)/lock" }
    package var databasePath: String { "\(path)/collector.sqlite" }
    package var balancePath: String { "\(path)/balance.json" }
    var verificationPath: String { "\(path)/verify.json" }
    var movedPath: String { "\(path)/moved.json" }
    package var copiesPath: String { "\(path)/backup" }
    package var recordsPath: String { "\(path)/records" }
    package var recordsLockPath: String { "\(path)/records/lock" }

    package var chunksPath: String { "\(path)/chunks" }
    package var chunksLockPath: String { "\(path)/chunks/lock" }

    package func dayPath(_ day: UTCDay) -> String { "\(recordsPath)/\(day)" }
    package func path(of partition: Partition) -> String { "\(path)/\(partition.name)" }

    /// Makes the directory itself if it is missing, and syncs it, up to the directory that contains it.
    package func make() throws(StoreError) { try Files<StoreError>.makeDirectory(path, syncing: true) }

    /// Makes what is missing for records and logs, and syncs it.
    package func prepare() throws(StoreError) {
        try make()
        try Files<StoreError>.makeDirectory(recordsPath, syncing: true)
        try Files<StoreError>.makeDirectory(chunksPath, syncing: true)
    }

    /// Checks whether a collector could use the directory, or make it if it is missing. Writes nothing.
    /// - Throws: `.io` with the directory that prevents it; `.newerVersion` or `.corrupt` for its `collector.sqlite`;
    ///   `.conflict` if it has moved to a cluster.
    package func requireUsable() throws(StoreError) {
        if let moved = try MovedMarker.read(in: self) { throw moved.refusal(path) }
        var place = path
        while !Paths.exists(place), let above = Paths.parent(of: place) { place = above }
        if !Paths.exists(place) { place = "." }
        let descriptor = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError(FileError("opening", place)) }
        close(descriptor)
        guard access(place, W_OK | X_OK) == 0 else { throw StoreError(FileError("writing", place)) }
        _ = try CollectorDatabase.openReading(self)
    }

    package func makeDay(_ day: UTCDay) throws(StoreError) {
        try Files<StoreError>.makeDirectory(dayPath(day), syncing: true)
    }

    /// Every record file, ascending by day. Files with other names are ignored.
    package func partitions() throws(StoreError) -> [Partition] {
        var found: [Partition] = []
        for name in try Self.names(in: recordsPath) {
            guard let day = UTCDay(name) else { continue }
            for file in try Self.names(in: dayPath(day)) where file.hasSuffix(".sqlite") {
                if let stream = StreamName(name: String(file.dropLast(7))) {
                    found.append(Partition(day: day, stream: stream))
                }
            }
        }
        return found.sorted()
    }

    /// Where a record file is made anew, in `records/<name>`.
    package func workPath(of partition: Partition, in name: String) -> String {
        "\(recordsPath)/\(name)/\(partition.day)-\(partition.stream)"
    }

    /// The record files that have a `workPath`, ascending by day. Other names are ignored.
    package func workedOn(in name: String) throws(StoreError) -> [Partition] {
        try Self.names(in: "\(recordsPath)/\(name)").compactMap { name in
            guard let day = UTCDay(String(name.prefix(10))), let stream = StreamName(name: String(name.dropFirst(11)))
            else { return nil }
            return Partition(day: day, stream: stream)
        }.sorted()
    }

    /// Removes a record file. `-wal` and `-shm` go first, so there is never a WAL beside a file that it does not belong
    /// to.
    package func remove(_ partition: Partition) throws(StoreError) {
        let file = path(of: partition)
        for name in ["\(file)-wal", "\(file)-shm", file] { try Files<StoreError>.remove(name) }
        try Files<StoreError>.sync(directory: dayPath(partition.day))
        // Fails while another stream's file is still there, which is right.
        if rmdir(dayPath(partition.day)) == 0 { try Files<StoreError>.sync(directory: recordsPath) }
    }

    /// Whether there is a record file, or one of the files beside it.
    package func hasRemains(of partition: Partition) -> Bool {
        let file = path(of: partition)
        return ["\(file)-wal", "\(file)-shm", file].contains { Paths.size(of: $0) != nil }
    }

    /// Bytes of a record file and the files beside it.
    package func bytes(of partition: Partition) -> Int64 {
        let file = path(of: partition)
        return (Paths.size(of: file) ?? 0) + (Paths.size(of: "\(file)-wal") ?? 0)
    }

    /// Whether the file's writer ended without closing it: there is a WAL beside it, or it has only a first page.
    package func mayBeUnfinished(_ partition: Partition) -> Bool {
        let file = path(of: partition)
        return (Paths.size(of: "\(file)-wal") ?? 0) > 0 || (Paths.size(of: file) ?? 0) <= 4096
    }

    /// `nil` if the system does not report it.
    package var disk: StoreFigures.Disk? {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        let block = UInt64(figures.f_frsize)
        return StoreFigures.Disk(
            freeBytes: UInt64(figures.f_bavail).multipliedSaturating(by: block),
            sizeBytes: UInt64(figures.f_blocks).multipliedSaturating(by: block))
    }

    /// Makes a directory, or accepts one that is empty.
    /// - Throws: `.conflict` if it is not empty.
    package static func makeEmpty(_ path: String) throws(StoreError) {
        try Files<StoreError>.makeDirectory(path, syncing: true)
        guard try names(in: path).isEmpty else {
            throw StoreError(.conflict, "\(path) is not empty. Name a directory that does not exist.")
        }
    }

    /// Removes everything in the directory and below it, but not the targets of links.
    package func removeContent() throws(StoreError) { try Self.removeContent(path) }

    private static func removeContent(_ path: String) throws(StoreError) {
        for name in try names(in: path) {
            let entry = "\(path)/\(name)"
            if unlink(entry) == 0 { continue }
            guard errno == EISDIR else { throw StoreError(FileError("removing", entry)) }
            try removeContent(entry)
            try Files<StoreError>.removeDirectory(entry)
        }
    }

    /// The names in a directory; none if it does not exist.
    package static func names(in directory: String) throws(StoreError) -> [String] {
        do { return try Files<FileError>.names(in: directory) } catch {
            guard error.systemError == ENOENT || error.systemError == ENOTDIR else { throw StoreError(error) }
            return []
        }
    }

    /// Holds a lock file for as long as the value lives, or until it is released.
    /// - Throws: `.inUse` where another collector has it.
    package static func lock(_ path: String) throws(StoreError) -> FileLock {
        guard let lock = try FileLock(path, failure: StoreError.self) else {
            throw StoreError(
                .inUse, "Another collector uses \(path). End it, or use another data directory.")
        }
        return lock
    }
}

extension DataDirectory {
    /// Opens one of its files for reading, beside a writer or in a directory that cannot be written, such as a mounted
    /// backup.
    ///
    /// SQLite must make files beside a WAL database even to read it. If it cannot, the file is read as immutable. That
    /// is right only while no collector holds the directory and no WAL is beside the file.
    package func openReading(_ path: String, options given: Connection.Options) throws(SQLiteError) -> Connection {
        do {
            return try Connection(path: path, options: given)
        } catch {
            let cannotMakeFiles = error.code == .cannotOpen || error.code == .readOnly || error.code == .io
            guard cannotMakeFiles, Paths.exists(path), access(Paths.parent(of: path) ?? ".", W_OK) != 0 else {
                throw error
            }
            if (Paths.size(of: "\(path)-wal") ?? 0) > 0 {
                throw SQLiteError(
                    code: .cannotOpen,
                    message:
                        "\(path) has a WAL, and its directory cannot be written, so the WAL cannot be read. "
                        + "Copy the directory to a writable place, and use the copy.",
                    operation: "open read-only")
            }
            guard !isHeld else { throw error }
            var options = given
            options.immutable = true
            return try Connection(path: path, options: options)
        }
    }

    /// Whether a collector has the directory open. If that cannot be determined, it counts as open.
    private var isHeld: Bool {
        for path in [lockPath, recordsLockPath] {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else {
                if errno == ENOENT { continue }
                return true
            }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
            flock(descriptor, LOCK_UN)
        }
        return false
    }

}

/// Identifies the file that was open under a name, to notice if it was removed or replaced.
package struct FileIdentity: Equatable, Sendable {
    package let path: String
    private let device: UInt64
    private let inode: UInt64

    /// The file that has the name now.
    package init(path: String) {
        self.path = path
        var status = stat()
        let isThere = stat(path, &status) == 0
        device = isThere ? UInt64(status.st_dev) : 0
        inode = isThere ? UInt64(status.st_ino) : 0
    }

    /// Whether the name still belongs to that file.
    package var isInPlace: Bool { inode != 0 && FileIdentity(path: path) == self }
}

import Glibc
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The place where the packed file of one day is made, and how it gets the name of the day's file.
struct PackingArea {
    private let partition: Partition
    private let directory: DataDirectory

    private static let name = "packing"

    private var path: String { directory.workPath(of: partition, in: Self.name) }

    /// Where the packed file is made, under its later name.
    var scratch: DataDirectory { DataDirectory(path: path) }

    init(_ partition: Partition, in directory: DataDirectory) {
        self.partition = partition
        self.directory = directory
    }

    /// Days whose packing has begun and not ended.
    static func unfinished(in directory: DataDirectory) throws(StoreError) -> [Partition] {
        try directory.workedOn(in: name)
    }

    /// Whether there is something to go on with.
    var isBegun: Bool { Paths.exists(path) }

    func begin() throws(StoreError) { try Files<StoreError>.makeDirectory(path, syncing: true) }

    /// Removes what was made.
    func discard() throws(StoreError) {
        // (A file in its place is nobody's.)
        guard isBegun, unlink(path) != 0 else { return }
        try scratch.removeContent()
        try Files<StoreError>.removeDirectory(path)
    }

    /// Gives the packed file the name of the day's file. The packed file is complete, and so is the one that it
    /// replaces: a crash leaves one of the two.
    /// - Precondition: the replaced file has no WAL with content, and nobody writes to it.
    func replace() throws(StoreError) {
        let file = directory.path(of: partition)
        try Files<StoreError>.sync(directory: scratch.dayPath(partition.day))
        // A reader may have made them. They must not be read into the new file.
        for leftover in ["\(file)-wal", "\(file)-shm"] { try Files<StoreError>.remove(leftover) }
        try Files<StoreError>.sync(directory: directory.dayPath(partition.day))
        try Files<StoreError>.rename(scratch.path(of: partition), to: file)
        try Files<StoreError>.sync(directory: directory.dayPath(partition.day))
        try discard()
    }
}

import FoundationEssentials
import Glibc
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The files of one salvage: their names and how they move (`RecordSalvage` explains the order).
struct SalvageArea {
    private let partition: Partition
    private let directory: DataDirectory

    private static let salvagingName = "salvaging"
    private static let damagedName = "damaged"
    private static let reportName = "report.json"

    private var path: String { directory.workPath(of: partition, in: Self.salvagingName) }
    private var reportPath: String { "\(path)/\(Self.reportName)" }
    private var damagedFile: String { "\(path)/\(partition.stream).sqlite" }
    private var file: String { directory.path(of: partition) }
    private var newFile: String { scratch.path(of: partition) }

    /// Where the new file is made, under its later name.
    var scratch: DataDirectory { DataDirectory(path: "\(path)/new") }

    init(_ partition: Partition, in directory: DataDirectory) {
        self.partition = partition
        self.directory = directory
    }

    /// Unfinished salvages, oldest file first.
    static func unfinished(in directory: DataDirectory) throws(StoreError) -> [Partition] {
        try directory.workedOn(in: salvagingName)
    }

    /// Whether the new file is complete and on disk.
    var isBuilt: Bool { Paths.exists(reportPath) }

    /// Makes an empty place to build in.
    func begin() throws(StoreError) {
        try discard()
        try Files<StoreError>.makeDirectory(path, syncing: true)
    }

    /// Removes what was begun. Nothing was moved yet.
    func discard() throws(StoreError) {
        guard Paths.exists(path) else { return }
        try DataDirectory(path: path).removeContent()
        try Files<StoreError>.removeDirectory(path)
    }

    /// The new file is complete. From now on it replaces the damaged one, whatever happens.
    func build(_ report: SalvageReport) throws(StoreError) {
        try Files<StoreError>.sync(directory: scratch.dayPath(partition.day))
        let bytes: Data
        do { bytes = try JSONEncoder.stable(.prettyPrinted).encode(report) } catch {
            throw StoreError(.internalFault, "the report of a salvage cannot be encoded: \(error)")
        }
        try Files<StoreError>.replace(reportPath, with: bytes.bytes, through: ".partial")
    }

    func report() throws(StoreError) -> SalvageReport {
        do {
            return try JSONDecoder().decode(SalvageReport.self, from: try Data(contentsOf: URL(filePath: reportPath)))
        } catch {
            throw StoreError(
                .corrupt,
                "\(reportPath) cannot be read: \(error). Move \(path) out of the data directory and start again.")
        }
    }

    /// Moves the damaged file and its WAL away and gives the new file their name. Repeating it is safe.
    func swap(_ observe: (RecordSalvage.Step) -> Void) throws(StoreError) {
        guard Paths.exists(newFile) else { return }
        let wal = "\(file)-wal"
        if Paths.exists(wal), !Paths.exists("\(damagedFile)-wal") {
            try Files<StoreError>.rename(wal, to: "\(damagedFile)-wal")
        }
        try sync()
        observe(.walMoved)
        if Paths.exists(file), !Paths.exists(damagedFile) { try Files<StoreError>.rename(file, to: damagedFile) }
        // A reader may have made it beside the damaged file. It must not be read into the new one.
        for leftover in [wal, "\(file)-shm"] { try Files<StoreError>.remove(leftover) }
        try sync()
        observe(.fileMoved)
        try directory.makeDay(partition.day)
        try Files<StoreError>.rename(newFile, to: file)
        try sync()
        observe(.replaced)
    }

    /// Gives the damaged file its final name.
    /// - Parameter name: relative to the data directory.
    func finish(as name: String) throws(StoreError) {
        for leftover in [scratch.dayPath(partition.day), scratch.recordsPath, scratch.path] {
            try Files<StoreError>.removeDirectory(leftover)
        }
        let damaged = "\(directory.recordsPath)/\(Self.damagedName)"
        try Files<StoreError>.makeDirectory(damaged, syncing: true)
        try Files<StoreError>.rename(path, to: "\(directory.path)/\(name)")
        try Files<StoreError>.sync(directory: damaged)
        try Files<StoreError>.sync(directory: "\(directory.recordsPath)/\(Self.salvagingName)")
    }

    /// An unused name, relative to the data directory.
    func keptName(at time: Int64) throws(StoreError) -> String {
        let taken = Set(try DataDirectory.names(in: "\(directory.recordsPath)/\(Self.damagedName)"))
        let stem =
            """
            \(partition.day)-\(partition.stream)-\(Timestamp.text(time).filter { $0.isNumber || $0 == "T" }.prefix(15))Z
            """
        var name = stem
        var number = 1
        while taken.contains(name) {
            number += 1
            name = "\(stem)-\(number)"
        }
        return "records/\(Self.damagedName)/\(name)"
    }

    private func sync() throws(StoreError) {
        try Files<StoreError>.sync(directory: path)
        if Paths.exists(directory.dayPath(partition.day)) {
            try Files<StoreError>.sync(directory: directory.dayPath(partition.day))
        }
    }
}

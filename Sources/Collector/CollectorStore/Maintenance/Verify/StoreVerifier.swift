import SQLite
import TelemetryBasics
import WireModel

/// Proves from what is stored that every device's history is whole and unaltered, and counts it. Reads only, takes no
/// lock, works beside a running collector: each file is read at one moment, the newest last.
package struct StoreVerifier {
    private let directory: DataDirectory
    /// Called after the baseline was read and before the files are listed, for tests.
    var betweenLooks: () -> Void = {}

    package init(directory: String) {
        self.directory = DataDirectory(path: directory)
    }

    /// Goes over every file: SQLite's own check, then for every chain that its slices tile from 1 (or from what
    /// retention left in the baseline) to the mark, that the chain recomputed over bytes and gaps meets every link, and
    /// that rows and counts agree. Then every chunk of a log against the digest of what came.
    /// - Throws: where the directory or its `collector.sqlite` cannot be read at all; what is wrong with a record file
    ///   is a finding.
    package func verify() throws(StoreError) -> VerifyReport {
        var report = try verifyRecords()
        if let connection = try CollectorDatabase.openReading(directory) {
            try ChunkVerification(directory: directory, connection: connection).check(&report)
        } else {
            report.add(
                .init(
                    code: .missing, file: "collector.sqlite",
                    message: "it is not there, or empty: what retention has removed, and every log, cannot be checked.")
            )
        }
        return report
    }

    private func verifyRecords() throws(StoreError) -> VerifyReport {
        try retryingWhenFilesGo { listing throws(StoreError) in
            var report = VerifyReport()
            for stream in StreamName.allCases {
                var verification = StreamVerification(stream: stream, baseline: listing.baseline[stream] ?? [])
                for entry in listing.missing where entry.partition.stream == stream {
                    report.add(
                        .init(
                            code: .missing, file: entry.partition.name, stream: "\(stream)",
                            message:
                                "the file is not there and retention has not removed it; it had at least \(entry.slices) slices."
                        ))
                }
                for partition in listing.partitions where partition.stream == stream {
                    do throws(StoreError) {
                        let leastSlices = listing.slices[partition]
                        guard let file = try RecordFile(reading: partition, in: directory) else {
                            // Its making was cut short, unless it was in use.
                            if let leastSlices { Self.addEmptied(partition, leastSlices, found: 0, &report) }
                            continue
                        }
                        report.files += 1
                        try verification.check(file, &report)
                        let found = try file.rowCounts().slices
                        if let leastSlices, found < leastSlices {
                            Self.addEmptied(partition, leastSlices, found: found, &report)
                        }
                    } catch {
                        if !Paths.exists(directory.path(of: partition)) { throw error }
                        verification.isIncomplete = true
                        report.add(
                            .init(code: .unreadable, file: partition.name, stream: "\(stream)", message: error.message))
                    }
                }
                verification.finish(&report)
            }
            for partition in try SalvageArea.unfinished(in: directory)
            where SalvageArea(partition, in: directory).isBuilt {
                report.add(
                    .init(
                        code: .unreadable, file: partition.name, stream: "\(partition.stream)",
                        message:
                            "a damaged file is being replaced, and counts in later files are not yet those of the new "
                            + "one. A running collector finishes that by itself, another one when it starts: verify again then."
                    ))
            }
            return report
        }
    }

    /// What is wrong with a record file.
    struct Harm: Equatable {
        var isMissing = false
        var message: String
    }

    /// Record files that are not there without retention's doing, and those that cannot be opened, with what is wrong;
    /// quick, where `verify` reads everything.
    func harmedFiles() throws(StoreError) -> [Partition: Harm] {
        let listing = try listing(withBaseline: false)
        var harmed: [Partition: Harm] = [:]
        for entry in listing.missing {
            harmed[entry.partition] = Harm(isMissing: true, message: "is not there, and retention has not removed it")
        }
        for partition in listing.partitions {
            do throws(StoreError) {
                if try RecordFile(reading: partition, in: directory) == nil, listing.slices[partition] != nil {
                    harmed[partition] = Harm(message: "cannot be read: it is empty")
                }
            } catch {
                if Paths.exists(directory.path(of: partition)) {
                    harmed[partition] = Harm(message: "cannot be read: \(error.message)")
                }
            }
        }
        return harmed
    }

    /// Every device's balances, as far as the record files can be read.
    package struct Balances: Sendable {
        package var devices: [DeviceBalance]
        /// Files that are damaged and were passed over.
        package var unreadableFiles: [String]
    }

    /// The balance of every device, counted from rows and the baseline, sorted by device, epoch and stream.
    /// - Throws: `.corrupt` where a record file is damaged.
    package func balance() throws(StoreError) -> [DeviceBalance] {
        let balances = try balances()
        guard let file = balances.unreadableFiles.first else { return balances.devices }
        throw StoreError(.corrupt, "\(file) cannot be read. `ws1collector verify` says why.")
    }

    /// The same of what can be read.
    package func balances() throws(StoreError) -> Balances {
        try retryingWhenFilesGo { listing throws(StoreError) in
            var devices: [DeviceID: [EpochBalance]] = [:]
            var unreadable: [String] = []
            for stream in StreamName.allCases {
                var counts = ChainCounts()
                for entry in listing.baseline[stream] ?? [] { counts.add(entry) }
                for partition in listing.partitions where partition.stream == stream {
                    do throws(StoreError) {
                        var added = counts
                        if let file = try RecordFile(reading: partition, in: directory) { try added.add(file, of: nil) }
                        counts = added
                    } catch  where error.code == .corrupt {
                        unreadable.append(partition.name)
                    }
                }
                for (device, balance) in counts.balances(stream: stream) {
                    devices[device, default: []].append(balance)
                }
            }
            return Balances(
                devices: devices.map { device, epochs in
                    DeviceBalance(
                        device: device,
                        epochs: epochs.sorted { ($0.epoch.description, $0.stream) < ($1.epoch.description, $1.stream) })
                }.sorted { $0.device.description < $1.device.description }, unreadableFiles: unreadable)
        }
    }

    private static func addEmptied(_ partition: Partition, _ least: Int, found: Int, _ report: inout VerifyReport) {
        report.add(
            .init(
                code: .missing, file: partition.name, stream: "\(partition.stream)",
                message: "the file has \(found) slices; when it was last closed it had \(least)."))
    }

    private struct Listing {
        var baseline: [StreamName: [Baseline.Entry]] = [:]
        /// What each file has at least, where that is known.
        var slices: [Partition: Int] = [:]
        /// Files that should be there and are not.
        var missing: [RecordFileList.Entry] = []
        /// Ascending.
        var partitions: [Partition] = []
        /// Files the baseline stands for.
        var removed: Set<Partition> = []
    }

    /// The baseline and the files it does not stand for.
    ///
    /// The two are read one after the other. A file that retention takes into the baseline and removes in between would
    /// be in neither: then both are read anew. That ends, since each time another file has gone.
    /// - Parameter withBaseline: it has a row for each chain of the fleet, which who asks for files alone does not
    ///   want.
    private func listing(withBaseline: Bool = true) throws(StoreError) -> Listing {
        while true {
            let listing = try look(withBaseline: withBaseline)
            if try removedPartitions() == listing.removed { return listing }
        }
    }

    private func look(withBaseline: Bool) throws(StoreError) -> Listing {
        guard Paths.exists(directory.path) else {
            throw StoreError(.notFound, "there is no data directory \(directory.path).")
        }
        // With records and no registry there is something to look at; with neither there is no collector's data.
        let partitions = try directory.partitions()
        guard !partitions.isEmpty || Paths.exists(directory.databasePath) else {
            throw .noCollector(directory.path)
        }
        var listing = Listing()
        if let connection = try CollectorDatabase.openReading(directory) {
            try StoreError.mapping { () throws(SQLiteError) in try connection.begin(.deferred) }
            defer { connection.rollback() }
            let baseline = Baseline(connection)
            listing.removed = Set(try baseline.removedPartitions())
            if withBaseline {
                for stream in StreamName.allCases { listing.baseline[stream] = try baseline.entries(of: stream) }
            }
            for entry in try baseline.recordFiles() where !listing.removed.contains(entry.partition) {
                listing.slices[entry.partition] = entry.slices
                listing.missing.append(entry)
            }
        }
        betweenLooks()
        listing.partitions = try directory.partitions().filter { !listing.removed.contains($0) }
        let present = Set(listing.partitions)
        listing.missing.removeAll { present.contains($0.partition) }
        return listing
    }

    private func removedPartitions() throws(StoreError) -> Set<Partition> {
        guard let connection = try CollectorDatabase.openReading(directory) else { return [] }
        return Set(try Baseline(connection).removedPartitions())
    }

    /// Retention beside us may remove a listed file: then all is read anew, with what the baseline says by then. That
    /// ends, since each time a file that was listed has gone.
    private func retryingWhenFilesGo<T>(_ body: (Listing) throws(StoreError) -> T) throws(StoreError) -> T {
        while true {
            let listing = try listing()
            do throws(StoreError) {
                return try body(listing)
            } catch {
                if listing.partitions.allSatisfy({ Paths.exists(directory.path(of: $0)) }) { throw error }
            }
        }
    }
}

import WireModel

/// What a salvage has kept of a record file, and what not: `report.json` beside the damaged file.
package struct SalvageReport: Codable, Equatable, Sendable {
    /// Relative to the data directory.
    package var file: String
    /// What was found wrong.
    package var cause: String
    /// The collector's clock, microseconds since 1970.
    package var at: Int64
    /// Where the damaged file is kept, relative to the data directory.
    package var keptAs: String
    package var keptRecords: UInt64
    package var keptChains: Int
    /// Numbers that count as lost at the collector now.
    package var lostNumbers: UInt64
    package var lostChains: Int
    /// Records that could be read, but not whose they are.
    package var ownerlessRecords: UInt64

    /// For notice and log.
    package var detail: String {
        var detail =
            "\(file) was damaged and has been replaced: \(cause) "
            + "\(keptRecords) records of \(keptChains) streams of devices are kept. "
            + "\(lostNumbers) numbers of \(lostChains) of them could not be read and count as lostAtCollector. "
        if ownerlessRecords > 0 { detail += "Of \(ownerlessRecords) more records nothing tells whose they are. " }
        return detail
            + "What else devices had sent into it counts as lost when they next send. "
            + "The damaged file is kept in \(keptAs) until somebody deletes it."
    }
}

/// `<data>/leaving.json`: that this device is being unenrolled, and how far that has come. The identity file says when it has been.
struct LeaveNote: Codable, Equatable, Sendable {
    static let fileName = "leaving.json"

    /// Wall clock, microseconds since 1970.
    var noted: Int64
    /// The last beacon is on disk.
    var beaconRecorded = false
    /// What else waited is counted as `unenrolled`.
    var epochEnded = false

    static func file(in directory: String) -> StateFile<LeaveNote> { StateFile(directory: directory, name: fileName) }
}

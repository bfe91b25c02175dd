import FoundationEssentials

/// `<data>/wipe.json`: that everything is to be erased. Written before anything is, and removed when it has been told.
struct WipeNote: Codable, Equatable, Sendable {
    static let fileName = "wipe.json"

    /// The command that asked for it, 16 bytes; `nil`: the program or a person here.
    var command: Data?
    /// In words, as it was given; for status and log.
    var reason: String
    /// The epoch to end: where the queue has another one, that has been done.
    var epoch: String
    /// Wall clock, microseconds since 1970.
    var noted: Int64

    static func file(in directory: String) -> StateFile<WipeNote> { StateFile(directory: directory, name: fileName) }
}

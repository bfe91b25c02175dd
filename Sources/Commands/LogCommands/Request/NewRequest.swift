import FoundationEssentials
import LogStore
import WireModel

/// What a collector is asked to tell a device. Only what it takes: see CommandDocument there.
struct NewRequest: Encodable, Equatable {
    struct Arguments: Encodable, Equatable {
        var mode: String?
        var type: String?
        var level: String?
        var since: String?
        var until: String?
        var captureSeconds: Int?
        var maximumBytes: Int?
        var categories: [String]?
        var text: String?
        var includeVerboseRing: Bool?
        /// The request that is to end.
        var command: String?
    }

    var kind: String
    var arguments: Arguments
    var expiresInSeconds: Int64?

    static func cancel(_ id: String) -> NewRequest { NewRequest(kind: "cancel", arguments: Arguments(command: id)) }
}

import LogStore
import WireModel

/// What was asked for, as it was asked: an interrupted fetch goes on only for the same.
struct FetchRequest: Codable, Equatable, Sendable {
    var store: String
    var form: ChunkReader.Form
    var kinds: [String]
    var level: LogLevel
    var since: TimeArgument?
    var until: TimeArgument?
    var categories: [String]
    var text: String
}

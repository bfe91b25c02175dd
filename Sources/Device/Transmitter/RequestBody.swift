import FoundationEssentials
import WireModel

/// What a request carries.
package enum RequestBody: Sendable {
    /// A protobuf message: sent compressed.
    case message(Data)
    /// Gzip members as they are, content of their own.
    case gzipFile(Data)
}

import FoundationEssentials
import WireModel

/// A message that a person sent to this program through the collector, see
/// ``DataSamplerConfiguration/receiveMessage``.
public struct DataSamplerMessage: Equatable, Sendable, Identifiable {
    /// The id of the collector's command, a lower-case UUID. A message that is delivered again has the same.
    public let id: String
    /// At most 4,096 bytes of UTF-8, without control characters except line feed and tab; empty if there is only a
    /// payload. Somebody wrote it: do not hand it to a shell.
    public let text: String
    /// For the program, at most 4,096 bytes; `nil` for none.
    public let payload: Data?
    /// The media type of the payload, such as `application/json`; `nil` without one.
    public let contentType: String?

    private enum CommandSubject {}

    /// - Parameter command: the id of the command, 16 bytes.
    init(command: Data, _ message: WireDeliverMessage) {
        id = Identifier<CommandSubject>(command)?.description ?? ""
        text = message.text
        payload = message.payload.isEmpty ? nil : message.payload
        contentType = message.contentType.isEmpty ? nil : message.contentType
    }
}

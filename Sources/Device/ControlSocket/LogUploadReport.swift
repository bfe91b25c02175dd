import FoundationEssentials

/// How an upload of logs does, as a running agent tells it in the JSON of its answer.
package struct LogUploadReport: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case underWay = "under-way"
        case done, failed, cancelled
    }

    /// Of 16 bytes, in the form of a UUID.
    package var id: String
    /// `application` or `crash`.
    package var type: String
    package var state: State
    package var chunks: Int
    /// Of the chunks, those the collector has.
    package var sent: Int
    /// Of the chunks, those whose lines fell to a limit of the store before they were sent.
    package var gone: Int
    /// Of text.
    package var bytes: UInt64
    /// What it waits for, or why it failed.
    package var detail: String

    package init(
        id: String, type: String, state: State, chunks: Int, sent: Int, gone: Int, bytes: UInt64, detail: String
    ) {
        self.id = id
        self.type = type
        self.state = state
        self.chunks = chunks
        self.sent = sent
        self.gone = gone
        self.bytes = bytes
        self.detail = detail
    }
}

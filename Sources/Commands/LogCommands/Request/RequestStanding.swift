import CollectorAPI
import CollectorClient
import CommandKit
import TelemetryBasics
import WireModel

typealias RequestID = Identifier<CommandView>

/// The meaning of a request's state to a person who waits for it.
struct RequestStanding: Equatable {
    enum Meaning: Equatable {
        /// More logs may still come.
        case pending
        case done
        /// No more logs will come, for this reason.
        case failed(String)
    }

    let meaning: Meaning
    /// 0 to 1.
    let progress: Double
    /// A line for a person.
    let text: String

    init(_ command: CommandView) {
        let detail = command.detail.map { ": \($0.fromPeer)" } ?? ""
        let state = command.state.fromPeer
        switch command.state {
        case "done": meaning = .done
        case "failed", "expired", "unsupported": meaning = .failed("\(state)\(detail)")
        default: meaning = .pending
        }
        let uploads = command.uploads ?? []
        let chunks = uploads.map(\.chunks).saturatingSum
        let stored = uploads.map(\.storedChunks).saturatingSum
        // The device reports its progress late. The collector knows earlier which chunks have arrived.
        progress = chunks > 0 ? max(command.progress, Double(stored) / Double(chunks)) : command.progress
        let bytes = uploads.map(\.storedRawBytes).saturatingSum
        text =
            state
            + (chunks > 0 ? ", \(stored) of \(CountText.of(chunks, "chunk")) here, \(ByteText.of(bytes)) of text" : "")
            + detail
    }

    /// The pause before the collector is asked again, in seconds. It grows, because most requests end soon.
    /// - Parameter questions: how often it was asked.
    static func pauseSeconds(after questions: Int) -> Int64 { questions < 10 ? 1 : questions < 60 ? 2 : 5 }
}

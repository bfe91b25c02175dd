import CollectorAPI
import CollectorClient
import FoundationEssentials
import LogStore
import WireModel

typealias RequestID = Identifier<CommandView>

/// What the state of a request means to who waits for it. Pure.
struct RequestStanding: Equatable {
    enum Meaning: Equatable {
        /// Something may still come.
        case pending
        case done
        /// Nothing will come any more, for this reason.
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
        let chunks = uploads.reduce(0) { $0 + $1.chunks }
        let stored = uploads.reduce(0) { $0 + $1.storedChunks }
        // A device that sends says so late; what has come is known here.
        progress = chunks > 0 ? max(command.progress, Double(stored) / Double(chunks)) : command.progress
        let bytes = uploads.reduce(0) { $0 + $1.storedRawBytes }
        text =
            state + (chunks > 0 ? ", \(stored) of \(chunks) chunks here, \(ByteText.of(bytes)) of text" : "") + detail
    }

    /// How long until it is looked at again, in seconds: soon at first, then every few seconds.
    /// - Parameter looks: how often it was looked at.
    static func pauseSeconds(after looks: Int) -> Int64 { looks < 10 ? 1 : looks < 60 ? 2 : 5 }
}

import MQTTClient
import WireModel

/// The topics of one prefix, as `Schemas/mqtt/PROTOCOL.md` lays them out.
package struct IntakeTopics: Equatable, Sendable {
    /// What comes on a topic.
    enum Kind: Equatable {
        /// A request, or its first part.
        case request
        /// A further part of a request that this collector has begun.
        case part
        /// The state of a device's connection.
        case state
    }

    private let root: String
    private let share: String
    /// The level that parts for this collector have.
    package let collector: String

    /// - Parameters:
    ///   - prefix: one or more levels, checked.
    ///   - collector: letters, digits and `-`; another one for each process.
    ///   - share: collectors with the same one divide the requests among themselves. Nobody else must know it.
    package init(prefix: String, collector: String, share: String) {
        self.share = share
        root = "\(prefix)/v\(WireNames.majorVersion)/d/"
        self.collector = collector
    }

    var subscriptions: [String] {
        ["$share/\(share)/\(root)+/q", "\(root)+/q/\(collector)", "\(root)+/s"]
    }

    func answers(of name: String) -> String { "\(root)\(name)/a" }
    func news(of name: String) -> String { "\(root)\(name)/n" }

    /// What a topic is for, and the name that its device has at the broker; `nil` for a topic that is none of these.
    func parse(_ topic: String) -> (kind: Kind, name: String)? {
        guard topic.hasPrefix(root) else { return nil }
        let levels = topic.dropFirst(root.count).split(separator: "/", omittingEmptySubsequences: false)
        guard let name = levels.first, !name.isEmpty, name.utf8.count <= MQTTTopic.maximumNameBytes else { return nil }
        switch levels.dropFirst() {
        case ["q"]: return (.request, String(name))
        case ["q", collector[...]]: return (.part, String(name))
        case ["s"]: return (.state, String(name))
        default: return nil
        }
    }
}

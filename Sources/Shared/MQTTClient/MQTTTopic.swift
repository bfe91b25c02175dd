/// What a level of a topic may be. Both ends check names at their start, because a broker answers a subscription to a
/// wrong one with 128 and no reason.
package enum MQTTTopic {
    /// The most bytes of a prefix, of a device's name at the broker, and of a whole topic (MQTT 5.0, 1.5.4).
    package static let maximumPrefixBytes = 256
    package static let maximumNameBytes = 128
    package static let maximumBytes = 65_535

    /// Refuses a name that cannot be one level of a topic.
    /// - Parameter what: what the message calls it, such as "mqttName".
    /// - Throws: `configuration`.
    package static func check(
        level: String, what: String, maximumBytes: Int = maximumNameBytes
    ) throws(MQTTError) {
        func refusal(_ why: String) -> MQTTError {
            MQTTError(
                .configuration,
                "\(what) cannot be a level of a topic: it \(why). Use letters, digits, and - _ . : @")
        }
        guard !level.isEmpty else { throw refusal("is empty") }
        guard level.utf8.count <= maximumBytes else {
            throw refusal("has \(level.utf8.count) bytes; at most \(maximumBytes) are allowed")
        }
        guard !level.hasPrefix("$") else { throw refusal("begins with $, which belongs to the broker") }
        for scalar in level.unicodeScalars {
            switch scalar {
            case "+", "#": throw refusal("holds \(scalar), a wildcard")
            case "/": throw refusal("holds /, which separates levels")
            case "\0": throw refusal("holds NUL")
            default:
                guard !scalar.isControl else { throw refusal("holds a control character") }
            }
        }
    }

    /// Refuses a prefix of one or more levels that is none.
    /// - Throws: `configuration`.
    package static func check(prefix: String, what: String) throws(MQTTError) {
        guard prefix.utf8.count <= maximumPrefixBytes else {
            throw MQTTError(
                .configuration,
                "\(what) has \(prefix.utf8.count) bytes; at most \(maximumPrefixBytes) are allowed")
        }
        for level in prefix.split(separator: "/", omittingEmptySubsequences: false) {
            try check(level: String(level), what: what, maximumBytes: maximumPrefixBytes)
        }
    }

    /// Refuses a topic that no message can be published to. Wildcards belong to subscriptions.
    /// - Throws: `topic`.
    package static func check(topic: String) throws(MQTTError) {
        let isForbidden: (UInt8) -> Bool = { $0 == 0 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
        guard !topic.isEmpty, topic.utf8.count <= maximumBytes, !topic.utf8.contains(where: isForbidden) else {
            throw MQTTError(
                .topic, "no message can be published to this topic: it is empty, too long, or holds +, # or NUL")
        }
    }

    /// Refuses a filter that no broker accepts: `+` and `#` stand for whole levels, and `#` is the last one.
    /// - Throws: `topic`.
    package static func check(filter: String) throws(MQTTError) {
        func refusal(_ why: String) -> MQTTError {
            MQTTError(.topic, "the subscription to \(filter) is not valid: \(why)")
        }
        guard !filter.isEmpty, filter.utf8.count <= maximumBytes else { throw refusal("it is empty or too long") }
        guard !filter.utf8.contains(0) else { throw refusal("it holds NUL") }
        let levels = filter.split(separator: "/", omittingEmptySubsequences: false)
        for (place, level) in levels.enumerated() {
            guard level.count > 1 || level != "#" || place == levels.count - 1 else {
                throw refusal("# must be the last level")
            }
            guard level.count <= 1 || !level.contains(where: { $0 == "+" || $0 == "#" }) else {
                throw refusal("+ and # must be a whole level")
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}

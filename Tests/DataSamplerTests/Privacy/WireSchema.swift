import Foundation

/// telemetry.proto as text: its messages with their fields, and the privacy marks in their comments.
struct WireSchema {
    struct Field: Equatable {
        var number: Int
        var name: String
        /// The type as written: `uint64`, `Value`, `map<string, Value>`.
        var type: String
        /// The text in `[personal: ...]`.
        var personal: String?
    }

    let messages: [String: [Field]]
    /// The messages by the name of a record kind, as the comment beside it names them.
    let bodies: [String: String]

    init() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Schemas/wire/v1/telemetry.proto").standardizedFileURL
        var messages: [String: [Field]] = [:]
        var bodies: [String: String] = [:]
        var message: String?
        var depth = 0
        // Of each open brace whether it is a message or oneof (fields count) or an enum (they do not).
        var open: [Bool] = []
        for line in try String(contentsOf: path, encoding: .utf8).split(separator: "\n").map(String.init) {
            let parts = line.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let code = parts[0]
            let comment = parts.count > 1 ? parts[1] : ""
            if let match = code.firstMatch(of: /^message (\w+) \{/) {
                message = String(match.1)
                messages[String(match.1)] = []
            }
            if let match = code.firstMatch(of: /RECORD_KIND_(\w+) = [0-9]+;/),
                let body = comment.firstMatch(of: /^ *([A-Z]\w+)/)
            {
                bodies[String(match.1)] = String(body.1)
            }
            if code.contains("{") { open.append(!code.contains("enum ")) }
            let pattern = /(?:optional |repeated )?(map<string, *\w+>|\w+) (\w+) = ([0-9]+);/
            if let message, open.last == true {
                for match in code.matches(of: pattern) {
                    messages[message]?.append(
                        Field(
                            number: Int(match.3)!, name: String(match.2),
                            type: String(match.1).replacingOccurrences(of: " ", with: ""),
                            personal: comment.firstMatch(of: /\[personal: ([a-z-]+)\]/).map { String($0.1) }))
                }
            }
            depth += code.count { $0 == "{" } - code.count { $0 == "}" }
            for _ in 0..<code.count(where: { $0 == "}" }) { open.removeLast() }
            if depth == 0 { message = nil }
        }
        self.messages = messages
        self.bodies = bodies
    }
}

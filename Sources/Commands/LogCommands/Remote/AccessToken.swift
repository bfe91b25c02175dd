import FoundationEssentials
import LogStore

/// What a collector knows a person by. It is sent, and shown nowhere.
struct AccessToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let maximumBytes = 4096

    let secret: String

    /// From the file that is named, else from the environment: `WS1_TOKEN` itself, or `WS1_TOKEN_FILE`.
    init(file: String?, environment: [String: String]) throws(LogCommandError) {
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if file == nil, let text = given("WS1_TOKEN") {
            try self.init(text, from: "WS1_TOKEN")
            return
        }
        guard let path = file ?? given("WS1_TOKEN_FILE") else {
            throw LogCommandError(
                .usage,
                "a collector asks who you are: give --token-file FILE with your access token in it, or set WS1_TOKEN_FILE or WS1_TOKEN")
        }
        guard case .whole(let content)? = BoundedFile.read(path, maximumBytes: Self.maximumBytes) else {
            throw LogCommandError(.usage, "\(path) cannot be read, or is no file of at most \(Self.maximumBytes) bytes: check --token-file")
        }
        try self.init(String(decoding: content, as: UTF8.self), from: path)
    }

    private init(_ text: String, from source: String) throws(LogCommandError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        // What could not stand in a header would break it.
        guard words.count == 1, let word = words.first, word.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw LogCommandError(.usage, "\(source) holds no access token: expected one word of ASCII")
        }
        secret = String(word)
    }

    var description: String { "(access token)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

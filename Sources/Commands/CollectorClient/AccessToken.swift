import TelemetryBasics
import WireModel

/// A person's access token for a collector. It is sent there and shown nowhere.
package struct AccessToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let maximumBytes = 4096

    package let secret: String

    /// Reads the token from the given file; without one from `WS1_TOKEN`, or else from the file that `WS1_TOKEN_FILE`
    /// names.
    /// - Throws: `.usage` if there is no token, or no usable one.
    package init(file: String?, environment: [String: String]) throws(CollectorClientError) {
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if file == nil, let text = given("WS1_TOKEN") {
            try self.init(text, from: "WS1_TOKEN")
            return
        }
        guard let path = file ?? given("WS1_TOKEN_FILE") else {
            throw CollectorClientError(
                .usage,
                "the collector needs your access token: give --token-file FILE, or set WS1_TOKEN_FILE or WS1_TOKEN")
        }
        guard let content = try? Files<FileError>.read(path, maximumBytes: Self.maximumBytes + 1),
            content.count <= Self.maximumBytes
        else {
            throw CollectorClientError(
                .usage,
                "\(path) cannot be read, or has more than \(Self.maximumBytes) bytes: check --token-file")
        }
        try self.init(String(decoding: PlainText.normalized(content), as: UTF8.self), from: path)
    }

    private init(_ text: String, from source: String) throws(CollectorClientError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        // Other characters would break the header that carries the token.
        guard words.count == 1, let word = words.first, word.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CollectorClientError(.usage, "\(source) holds no access token: expected one word of ASCII")
        }
        secret = String(word)
    }

    package var description: String { "(access token)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

import TelemetryBasics

/// Headers that a person gave in a file, such as a token: `Name: value` on each line, and comments behind `#`.
///
/// Messages name the file and the line, and never a value.
package struct ForwardHeaders: Equatable, Sendable {
    package struct Invalid: Error, Equatable {
        package let message: String
    }

    package private(set) var headers: [(name: String, value: String)] = []

    package static func == (left: Self, right: Self) -> Bool {
        left.headers.elementsEqual(right.headers) { $0.name == $1.name && $0.value == $1.value }
    }

    /// The most headers.
    private static let maximum = 32
    /// Those that the sender sets itself.
    private static let own: Set<String> = [
        "content-type", "content-encoding", "content-length", "transfer-encoding", "connection", "host",
    ]

    package init() {}

    package init(file: String) throws(Invalid) {
        let bytes: [UInt8]
        do { bytes = try PlainText.read(file) } catch { throw Invalid(message: "\(file) cannot be read: \(error)") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Invalid(message: "\(file) is not UTF-8 text.")
        }
        try self.init(text, file: file)
    }

    init(_ text: String, file: String) throws(Invalid) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if line.isEmpty || line.hasPrefix("#") { continue }
            func invalid(_ reason: String) -> Invalid { Invalid(message: "\(file), line \(number + 1): \(reason)") }
            guard let colon = line.firstIndex(of: ":") else { throw invalid("expected `Name: value`.") }
            let name = line[..<colon]
            let isToken = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
            guard !name.isEmpty, isToken else { throw invalid("what stands before the colon is no name of a header.") }
            guard !Self.own.contains(name.lowercased()) else {
                throw invalid("the collector sets `\(name)` itself.")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            let trimmed = value.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
            guard !trimmed.isEmpty else { throw invalid("`\(name)` has no value.") }
            guard trimmed.allSatisfy({ $0.isASCII && $0.asciiValue.map { $0 >= 0x20 && $0 < 0x7F || $0 == 9 } == true })
            else { throw invalid("the value of `\(name)` has characters that no header can have.") }
            guard headers.count < Self.maximum else { throw invalid("more than \(Self.maximum) headers.") }
            headers.append((String(name), String(trimmed)))
        }
    }

    /// Texts that must not be shown: the values, and what stands behind a word such as `Bearer`.
    var secrets: [String] {
        headers.flatMap { header in
            [header.value] + header.value.split(separator: " ").dropFirst().map(String.init)
        }
    }
}

/// Reads the parts of a log line as they were logged, without the escapes of the disk (`Schemas/logs/FORMAT.md`).
package enum LogText {
    private static let backslash = UInt8(ascii: "\\")
    private static let escapes = Dictionary(uniqueKeysWithValues: zip(#"nrt\"#.utf8, "\n\r\t\\".utf8))

    /// Decodes `\n`, `\r`, `\t`, `\\` and `\u{1B}`. Any other backslash stands for itself.
    package static func unescaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
        guard bytes.contains(backslash) else { return Array(bytes) }
        var text: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == backslash, let escaped = rest.first.flatMap({ escapes[$0] }) {
                text.append(escaped)
                rest = rest.dropFirst()
            } else if byte == backslash, rest.starts(with: "u{".utf8),
                let close = rest.prefix(6).firstIndex(of: UInt8(ascii: "}")),
                let value = UInt8(String(decoding: rest[..<close].dropFirst(2), as: UTF8.self), radix: 16)
            {
                text.append(value)
                rest = rest[close...].dropFirst()
            } else {
                text.append(byte)
            }
        }
        return text
    }

    /// The keys and values of a line's metadata, unescaped. A word without `=` is left out.
    package static func pairs(_ metadata: some Collection<UInt8>) -> [(key: [UInt8], value: [UInt8])] {
        metadata.split(separator: UInt8(ascii: " ")).compactMap { pair in
            pair.firstIndex(of: UInt8(ascii: "=")).map { equals in
                (unescaped(pair[..<equals]), unescaped(pair[equals...].dropFirst()))
            }
        }
    }
}

import FoundationEssentials
import WireModel

/// A line as one JSON object for scripts. Its fields are as they were logged, without the escapes of the disk.
enum LineJSON {
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// The object and a newline. A malformed line has only `message`, with its text.
    static func object(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        let end = line.last == UInt8(ascii: "\n") ? line.count - 1 : line.count
        guard let fields = LogLine(line) else {
            return Array("{\"message\":".utf8) + string(line[..<end]) + Array("}\n".utf8)
        }
        var object = Array("{\"time\":".utf8) + string(line[..<LogLine.timeBytes])
        object += Array(",\"level\":\"\(fields.level.name)\",\"number\":\(fields.number.value),\"category\":".utf8)
        object += string(line[fields.category]) + Array(",\"message\":".utf8) + string(unescaped(line[fields.message]))
        object += Array(",\"metadata\":{".utf8)
        var isFirst = true
        for pair in line[fields.metadata].split(separator: UInt8(ascii: " ")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            if !isFirst { object.append(UInt8(ascii: ",")) }
            isFirst = false
            object +=
                string(unescaped(pair[..<equals])) + [UInt8(ascii: ":")] + string(unescaped(pair[(equals + 1)...]))
        }
        return object + Array("}}\n".utf8)
    }

    private static let escapes = Dictionary(uniqueKeysWithValues: zip(#"nrt\"#.utf8, "\n\r\t\\".utf8))

    /// Decodes `\n`, `\r`, `\t`, `\\` and `\u{1B}`. Any other backslash stands for itself.
    private static func unescaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
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

    /// The text in quotes. Bytes that are not UTF-8 become U+FFFD.
    private static func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var json = [quote]
        for byte in String(decoding: bytes, as: UTF8.self).utf8 {
            switch byte {
            case quote, backslash: json += [backslash, byte]
            case UInt8(ascii: "\n"): json += Array("\\n".utf8)
            case UInt8(ascii: "\r"): json += Array("\\r".utf8)
            case UInt8(ascii: "\t"): json += Array("\\t".utf8)
            case ..<0x20, 0x7F: json += Array("\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: json.append(byte)
            }
        }
        // Some other characters control a terminal too, or change the direction of the text around them.
        return Array(Data(json + [quote]).escapingHiddenCharactersInJSON)
    }
}

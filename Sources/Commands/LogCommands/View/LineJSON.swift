import FoundationEssentials
import WireModel

/// A line as one JSON object for scripts: its fields, with what was escaped on disk as it was logged.
enum LineJSON {
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// One line, `\n` at its end. A line that is not of the form has only its text, as `message`.
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

    /// What stands on disk as `\n`, `\r`, `\t`, `\\` and `\u{1B}`; any other backslash is one.
    private static func unescaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
        guard bytes.contains(backslash) else { return Array(bytes) }
        var text: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == backslash, let next = rest.first else {
                text.append(byte)
                continue
            }
            switch next {
            case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): text.append(UInt8(ascii: "\r"))
            case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
            case backslash: text.append(backslash)
            case UInt8(ascii: "u"):
                guard let close = rest.prefix(6).firstIndex(of: UInt8(ascii: "}")),
                    rest.dropFirst().first == UInt8(ascii: "{"),
                    let value = UInt8(String(decoding: rest[..<close].dropFirst(2), as: UTF8.self), radix: 16)
                else {
                    text.append(byte)
                    continue
                }
                text.append(value)
                rest = rest[close...]
            default:
                text.append(byte)
                continue
            }
            rest = rest.dropFirst()
        }
        return text
    }

    /// In quotes; bytes that are no UTF-8 become U+FFFD.
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
        // U+0080 to U+009F are control characters too, and others change the direction of what stands around them.
        return Array(Data(json + [quote]).escapingHiddenCharactersInJSON)
    }
}

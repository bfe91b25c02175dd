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
        object +=
            string(line[fields.category]) + Array(",\"message\":".utf8)
            + string(LogText.unescaped(line[fields.message]))
        object += Array(",\"metadata\":{".utf8)
        for (place, pair) in LogText.pairs(line[fields.metadata]).enumerated() {
            if place > 0 { object.append(UInt8(ascii: ",")) }
            object += string(pair.key) + [UInt8(ascii: ":")] + string(pair.value)
        }
        return object + Array("}}\n".utf8)
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

import WireModel

/// The name a chunk is suggested to be stored under: `<app>-<device>-<type>-<first time UTC>-<n>of<count>.log[.gz]`, safe on any file system,
/// and sorted by name as the chunks are in order.
package struct ChunkName: Sendable {
    /// Of a name of an application or device, at most; whole names stay well below the 255 bytes a file system takes.
    private static let maximumBytes = 64

    private let prefix: String

    /// - Parameters:
    ///   - application: any text; what is not a letter, digit, `.`, `_` or `-` of ASCII becomes `_`.
    ///   - device: likewise.
    package init(application: String, device: String) {
        prefix = "\(Self.safe(application))-\(Self.safe(device))"
    }

    /// - Parameters:
    ///   - number: from 1.
    ///   - count: of all chunks; numbers are padded with zeros to its length.
    package func file(_ number: Int, of count: Int, type: LogType, earliest: Int64, isCompressed: Bool) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, String(count).utf8.count - digits.utf8.count)) + digits
        // 2026-11-21T23:51:28.123456Z -> 20261121T235128Z
        let time = LogTime.text(earliest).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        return "\(prefix)-\(type.rawValue)-\(time)-\(padded)of\(count).log\(isCompressed ? ".gz" : "")"
    }

    private static func safe(_ name: String) -> String {
        let safe = name.utf8.prefix(maximumBytes).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        // Neither hidden nor taken for an option.
        let text = String(decoding: safe, as: UTF8.self)
        return text.isEmpty || text.hasPrefix(".") || text.hasPrefix("-") ? "_" + text.dropFirst() : text
    }
}

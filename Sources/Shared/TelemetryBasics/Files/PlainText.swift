import Glibc

/// Text in a file that a person made. Editors of other systems begin it with a byte order mark, end its lines with
/// carriage returns, or write UTF-16.
package enum PlainText {
    /// A longer file is none that a person made, and is not read. Bundles of certificate authorities have 0.3 MB.
    package static let maximumBytes = 16 << 20

    /// The byte order mark in UTF-8.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The text in UTF-8, without a byte order mark, and with one line feed at the end of each line.
    package static func normalized(_ content: [UInt8]) -> [UInt8] {
        let text = utf8(content)
        guard text.contains(returns) else { return text }
        var lines: [UInt8] = []
        lines.reserveCapacity(text.count)
        for (index, byte) in text.enumerated() {
            if byte != returns {
                lines.append(byte)
            } else if index + 1 == text.count || text[index + 1] != feed {
                lines.append(feed)
            }
        }
        return lines
    }

    /// The normalized text of a whole file.
    /// - Throws: with `ENOENT` where there is no such file, with `EOVERFLOW` where it is too long.
    package static func read(_ path: String) throws(FileError) -> [UInt8] {
        guard let content = try Files<FileError>.read(path, maximumBytes: maximumBytes + 1) else {
            throw FileError("opening", path, ENOENT)
        }
        guard content.count <= maximumBytes else { throw FileError("reading", path, EOVERFLOW) }
        return normalized(content)
    }

    private static let returns = UInt8(ascii: "\r")
    private static let feed = UInt8(ascii: "\n")

    private static func utf8(_ content: [UInt8]) -> [UInt8] {
        if content.starts(with: byteOrderMark) { return Array(content.dropFirst(byteOrderMark.count)) }
        if content.starts(with: [0xFF, 0xFE]) { return utf8(units: content.dropFirst(2), low: 0) }
        if content.starts(with: [0xFE, 0xFF]) { return utf8(units: content.dropFirst(2), low: 1) }
        return content
    }

    /// - Parameter low: which byte of a unit is its lower half.
    private static func utf8(units content: ArraySlice<UInt8>, low: Int) -> [UInt8] {
        let units = stride(from: content.startIndex, to: content.endIndex - 1, by: 2).map {
            UInt16(content[$0 + low]) | UInt16(content[$0 + 1 - low]) << 8
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }
}

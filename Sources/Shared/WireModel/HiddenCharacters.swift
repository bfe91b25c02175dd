import FoundationEssentials

extension Unicode.Scalar {
    /// Of C0, delete or C1: what steers a terminal, and makes one line of a list look like two. Names do not have it.
    package var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }

    /// What a terminal obeys instead of showing it: control characters, those that change the direction of the text
    /// around them, so that what is read is another order than what is there, and the two line ends that only some
    /// programs take for one.
    package var isHidden: Bool {
        switch value {
        case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: isControl
        }
    }
}

extension StringProtocol {
    package var hasControlCharacters: Bool { unicodeScalars.contains { $0.isControl } }

    /// With control characters as logs have them on disk: `\u{1B}`. Every program puts text of others through this
    /// before a terminal gets it.
    package var escapingControlCharacters: String { escapingControlCharacters(keeping: "") }

    /// - Parameter kept: control characters that the printing program itself uses, such as line ends.
    package func escapingControlCharacters(keeping kept: String) -> String {
        func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar.isHidden && !kept.unicodeScalars.contains(scalar) }
        guard unicodeScalars.contains(where: isEscaped) else { return String(self) }
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if isEscaped(scalar) {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

extension Unicode.Scalar {
    /// `\u009b`, as JSON has it. Hidden characters lie in the plane whose values have four digits.
    package var escapedInJSON: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension Data {
    /// JSON with hidden characters escaped, for a terminal; the value is the same. Encoders escape those below U+0020
    /// only, and beyond ASCII such characters stand in strings alone.
    package var escapingHiddenCharactersInJSON: Data {
        // Delete, and the first bytes of the other hidden characters in UTF-8.
        guard contains(where: { $0 == 0x7F || $0 == 0xC2 || $0 == 0xD8 || $0 == 0xE2 }) else { return self }
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: self, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, scalar.isHidden {
                text += scalar.escapedInJSON.unicodeScalars
            } else {
                text.append(scalar)
            }
        }
        return Data(String(text).utf8)
    }
}

/// Combining characters in a row. Swift compares and hashes text in a time that grows with the square of their number,
/// so that one attribute's name of 256 KiB would take ten seconds each time it is read.
package enum CombiningCharacters {
    /// Most in a row that are read. So many take well under a millisecond, and no language needs as many as 30.
    package static let limit = 1000

    /// Whether more than ``limit`` stand in a row somewhere. The bytes may be anything; what is not UTF-8 ends a row.
    package static func areTooMany(in bytes: UnsafeRawBufferPointer) -> Bool {
        // None takes fewer than two bytes, and each of them is above 0x7F.
        let fewestBytes = 2 * limit
        guard bytes.count > fewestBytes else { return false }
        var start = 0
        for place in 0...bytes.count where place == bytes.count || bytes[place] < 0x80 {
            if place - start > fewestBytes, hasLongRow(UnsafeRawBufferPointer(rebasing: bytes[start..<place])) {
                return true
            }
            start = place + 1
        }
        return false
    }

    private static func hasLongRow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var row = 0
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            row = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : row + 1
            if row > limit { return true }
        }
        return false
    }
}

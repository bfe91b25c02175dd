import FoundationEssentials

extension Unicode.Scalar {
    /// A C0 or C1 control character, or delete. They control a terminal, or make one line of a list look like two.
    /// Names must not contain them.
    package var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }

    /// Characters that a terminal obeys instead of showing: control characters; those that change the text direction,
    /// so the text reads in another order than it is stored; and the two line ends that only some programs recognize.
    package var isHidden: Bool {
        switch value {
        case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: isControl
        }
    }
}

extension StringProtocol {
    package var hasControlCharacters: Bool { unicodeScalars.contains { $0.isControl } }

    /// Escapes control characters as logs do on disk: `\u{1B}`. Every program applies this to foreign text before a
    /// terminal receives it.
    package var escapingControlCharacters: String { escapingControlCharacters(keeping: "") }

    /// - Parameter kept: control characters that the printing program uses itself, such as newlines.
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
    /// `\u009b`, as in JSON. All hidden characters have values of at most four hexadecimal digits.
    package var escapedInJSON: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension Data {
    /// JSON with hidden characters escaped for a terminal; its value stays the same. JSON encoders escape only
    /// characters below U+0020. Characters beyond ASCII occur only inside strings.
    package var escapingHiddenCharactersInJSON: Data {
        // Delete, and the first UTF-8 bytes of the other hidden characters.
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

/// Detects long runs of combining characters. Swift compares and hashes text in a time that grows with the square of
/// the run's length. One attribute name of 256 KiB would take ten seconds each time it is read.
package enum CombiningCharacters {
    /// The longest accepted run. It costs well under a millisecond, and no language needs more than 30.
    package static let limit = 1000

    /// Whether a run is longer than ``limit``. The bytes may be anything; bytes that are not UTF-8 end a run.
    package static func areTooMany(in bytes: UnsafeRawBufferPointer) -> Bool {
        // Each character has at least two bytes, all above 0x7F.
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

extension JSONEncoder {
    /// The form of all JSON that this package writes. Its keys are sorted, so that equal values have equal texts.
    package static func stable(_ further: OutputFormatting = []) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = further.union([.sortedKeys, .withoutEscapingSlashes])
        return encoder
    }
}

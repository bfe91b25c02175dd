extension Unicode.Scalar {
    /// Of C0, delete or C1: what steers a terminal, and makes one line of a list look like two.
    package var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}

extension StringProtocol {
    package var hasControlCharacters: Bool { unicodeScalars.contains { $0.isControl } }

    /// With control characters as logs have them on disk: `\u{1B}`.
    package var escapingControlCharacters: String {
        guard hasControlCharacters else { return String(self) }
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.isControl {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

/// A key of a US keyboard.
package struct Key: Sendable, Hashable {
    /// The name as `KeyboardEvent.key` has it.
    let name: String
    /// The code as `KeyboardEvent.code` has it.
    let code: String
    /// The number as `KeyboardEvent.keyCode` has it.
    let number: Int
    /// The text that the key types; `nil` for a key that types nothing.
    let text: String?

    private init(_ name: String, code: String? = nil, _ number: Int, text: String? = nil) {
        self.name = name
        self.code = code ?? name
        self.number = number
        self.text = text
    }

    package static let tab = Key("Tab", 9)
    package static let enter = Key("Enter", 13, text: "\r")
    package static let escape = Key("Escape", 27)
    package static let space = Key(" ", code: "Space", 32, text: " ")
    package static let backspace = Key("Backspace", 8)
    package static let delete = Key("Delete", 46)

    /// Signs with their keys, first alone, then with Shift.
    private static let signs: [(code: String, number: Int, alone: Character, shifted: Character)] = [
        ("Digit1", 49, "1", "!"), ("Digit2", 50, "2", "@"), ("Digit3", 51, "3", "#"), ("Digit4", 52, "4", "$"),
        ("Digit5", 53, "5", "%"), ("Digit6", 54, "6", "^"), ("Digit7", 55, "7", "&"), ("Digit8", 56, "8", "*"),
        ("Digit9", 57, "9", "("), ("Digit0", 48, "0", ")"), ("Minus", 189, "-", "_"), ("Equal", 187, "=", "+"),
        ("BracketLeft", 219, "[", "{"), ("BracketRight", 221, "]", "}"), ("Backslash", 220, "\\", "|"),
        ("Semicolon", 186, ";", ":"), ("Quote", 222, "'", "\""), ("Backquote", 192, "`", "~"),
        ("Comma", 188, ",", "<"), ("Period", 190, ".", ">"), ("Slash", 191, "/", "?"),
    ]

    /// The key that types a character; `nil` if none does.
    package init?(_ character: Character) {
        if character == " " {
            self = .space
        } else if let letter = character.uppercased().utf8.first, character.isASCII, character.isLetter {
            self.init(
                String(character), code: "Key\(character.uppercased())", Int(letter), text: String(character))
        } else if let sign = Self.signs.first(where: { $0.alone == character || $0.shifted == character }) {
            self.init(String(character), code: sign.code, sign.number, text: String(character))
        } else {
            return nil
        }
    }
}

extension Key: ExpressibleByUnicodeScalarLiteral {
    /// A letter or sign of the keyboard, such as `"/"`.
    package init(unicodeScalarLiteral value: Unicode.Scalar) {
        guard let key = Key(Character(value)) else { preconditionFailure("no key types \(value)") }
        self = key
    }
}

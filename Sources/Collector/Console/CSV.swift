import Foundation

/// A table as text (RFC 4180).
enum CSV {
    static func text(_ rows: [[String]]) -> Data {
        Data(rows.map { $0.map(field).joined(separator: ",") + "\r\n" }.joined().utf8)
    }

    /// Quoted where it must be. Spreadsheets compute a text that begins like a formula; an apostrophe prevents that.
    private static func field(_ text: String) -> String {
        var text = text
        if let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first), Double(text) == nil {
            text = "'" + text
        }
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }
}

import FoundationEssentials

/// A table as text (RFC 4180).
package enum CSV {
    package static func text(_ rows: [[String]]) -> Data {
        Data(rows.map { $0.map(field).joined(separator: ",") + "\r\n" }.joined().utf8)
    }

    /// Where a cell begins for a spreadsheet that splits at semicolons or tabs, as those of many countries do. For such
    /// a program a quote in the middle of a cell is an ordinary character, so quoting protects nothing.
    private static let cellEnds = Set(";\t\r\n\"".unicodeScalars)
    /// Characters that begin a formula, with their full-width forms.
    private static let formulaStarts = Set("=+-@\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars)

    /// Quoted where it must be.
    private static func field(_ text: String) -> String {
        let text = withoutFormulas(text)
        guard text.contains(where: { ",;\"\t".contains($0) || $0.isNewline }) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }

    /// Spreadsheets compute a cell that begins like a formula; an apostrophe prevents that. Numbers stay as they are.
    private static func withoutFormulas(_ text: String) -> String {
        let scalars = text.unicodeScalars
        var result = String.UnicodeScalarView()
        if let first = scalars.first, first == "\t" || first == "\r" { result.append("'") }
        var isCellStart = true
        for index in scalars.indices {
            let scalar = scalars[index]
            if isCellStart, formulaStarts.contains(scalar),
                Double(String(scalars[index...].prefix { !cellEnds.contains($0) })) == nil
            {
                result.append("'")
            }
            result.append(scalar)
            isCellStart = cellEnds.contains(scalar) || isCellStart && scalar == " "
        }
        return String(result)
    }
}

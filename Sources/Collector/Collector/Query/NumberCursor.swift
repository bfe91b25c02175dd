import Foundation
import WireModel

/// Where the next page begins, in a list that is ordered by one number. Opaque to clients.
enum NumberCursor {
    static func text(_ number: Int64) -> String {
        Data("n\(number)".utf8).base64EncodedString().replacing("=", with: "")
    }

    /// `nil` where it is none.
    static func number(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        var base64 = text
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        guard let data = Data(base64Encoded: base64), data.first == UInt8(ascii: "n"),
            let number = Int64(String(decoding: data.dropFirst(), as: UTF8.self)), number >= 0
        else { return nil }
        return number
    }
}

extension QueryParameters {
    func numberCursor() throws -> Int64? {
        guard let text = text("cursor") else { return nil }
        guard let number = NumberCursor.number(text) else {
            throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
        }
        return number
    }
}

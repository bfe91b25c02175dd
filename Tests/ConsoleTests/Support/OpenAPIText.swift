import Foundation
import Testing

/// Lists of words in openapi.yaml, which pages must know as well.
enum OpenAPIText {
    /// The values of the next `enum` after a schema, or after one of its properties; sorted.
    static func values(of schema: String, _ property: String? = nil) throws -> [String] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Schemas/api/openapi.yaml")
        let text = try String(contentsOf: path, encoding: .utf8)
        var rest = text[...]
        rest = rest[try #require(rest.firstRange(of: "\n    \(schema):\n")).upperBound...]
        if let property { rest = rest[try #require(rest.firstRange(of: "\n        \(property):\n")).upperBound...] }
        let list = try #require(rest.firstMatch(of: #/enum: \[([^\]]*)\]/#)).output.1
        return list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.sorted()
    }
}

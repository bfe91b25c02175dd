import Foundation

@testable import Console

/// What a browser would send of the forms of a page whose method is post, without touching anything.
enum SentForm {
    static func fields(of html: String) -> FormFields {
        var fields = FormFields()
        let tag = #/<(?<kind>input|select|textarea)\b(?<attributes>[^>]*)>/#.dotMatchesNewlines()
        var rest = html[...]
        while let match = rest.firstMatch(of: tag) {
            rest = rest[match.range.upperBound...]
            let attributes = String(match.output.attributes)
            guard let name = attribute("name", of: attributes) else { continue }
            switch match.output.kind {
            case "input":
                let isBox = attributes.contains(#"type="checkbox""#)
                if !isBox || attributes.hasSuffix(" checked") {
                    fields.add(name, attribute("value", of: attributes) ?? "")
                }
            case "textarea":
                guard let end = rest.firstRange(of: "</textarea>") else { continue }
                var text = unescaped(rest[..<end.lowerBound])
                if text.hasPrefix("\n") { text.removeFirst() }
                fields.add(name, text.replacing("\n", with: "\r\n"))
            default:
                guard let end = rest.firstRange(of: "</select>") else { continue }
                let options = rest[..<end.lowerBound].matches(of: #/<option value="([^"]*)"( selected)?>/#)
                let chosen = options.first { $0.output.2 != nil } ?? options.first
                fields.add(name, chosen.map { unescaped($0.output.1) })
            }
        }
        return fields
    }

    private static func attribute(_ name: String, of attributes: String) -> String? {
        guard let start = attributes.firstRange(of: " \(name)=\"") else { return nil }
        return unescaped(attributes[start.upperBound...].prefix { $0 != "\"" })
    }

    private static func unescaped(_ text: Substring) -> String {
        var plain = String(text)
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
            plain = plain.replacing(entity, with: character)
        }
        return plain
    }
}

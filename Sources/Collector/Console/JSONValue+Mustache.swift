import CollectorAPI
import Foundation
import JSON
import Mustache
import WireModel

/// Values in templates. `{{name}}` writes a member as text, escaped for HTML. `{{#items}}` repeats for each item, and
/// leaves a section out for what is absent, null, false or an empty list. `{{bytes(size)}}` and the other words of
/// `transform` write a value in a form for people.
extension JSONValue: MustacheParent, MustacheCustomRenderable, MustacheTransformable {
    package func child(named name: String) -> Any? {
        guard case .object(let members) = self, let member = members[name] else { return nil }
        return member.inTemplate
    }

    /// The value as the template library has it: `nil` for null, its own kinds for lists and truth values.
    private var inTemplate: Any? {
        switch self {
        case .null: nil
        case .array(let items): items
        case .boolean(let value): value
        default: self
        }
    }

    package var renderText: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "yes" : "no"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        // A whole number of a view is one in its JSON, too.
        case .real(let value): Int64(exactly: value).map { String($0) } ?? DisplayText.number(value)
        case .text(let text): DisplayText.visible(text)
        case .array, .object: DisplayText.visible(prettyText)
        }
    }

    private var rawText: String {
        switch self {
        case .text(let text): text
        case .real(let value): DisplayText.plain(value)
        case .array, .object: prettyText
        default: renderText
        }
    }

    package var isNull: Bool { self == .null || self == .text("") }

    package func transform(_ name: String) -> Any? {
        switch name {
        case "bytes": number.map(DisplayText.bytes)
        case "count": number.map(DisplayText.count)
        case "number": number.map(DisplayText.number)
        case "percent": number.map(DisplayText.percent)
        case "seconds": number.map(DisplayText.duration)
        case "time": text.map(DisplayText.time)
        case "devices": DisplayText.devices(self)
        case "records", "lines", "chunks", "chains", "characters", "days", "events", "files", "groups", "names", "sets":
            DisplayText.counted(self, String(name.dropLast()))
        // A text of the API in parts, of which some are code.
        case "prose": text.map(DisplayText.prose)
        // An object of numbers as a list; a single 0 if it is empty.
        case "counts":
            members.isEmpty
                ? [JSONValue.object(["value": 0])]
                : members.sorted { $0.key < $1.key }.map {
                    JSONValue.object(["name": .text($0.key), "value": $0.value])
                }
        case "words": text.map { DisplayText.visible(DisplayText.words($0)) }
        // For values of form fields, which must come back as they are.
        case "raw": rawText
        case "segment": renderText.percentEncoded
        case "json": DisplayText.visible(prettyText)
        // An object as a list of its members, by name.
        case "members":
            members.sorted { $0.key < $1.key }.map { JSONValue.object(["name": .text($0.key), "value": $0.value]) }
        default: nil
        }
    }
}

/// How values are written for people.
enum DisplayText {
    /// The text with hidden characters escaped: control characters, and those that change the direction of others. A
    /// device can send any text as its name; a page shows it as it is.
    static func visible(_ text: String) -> String { text.escapingControlCharacters(keeping: "\n\r\t") }

    /// Decimal units, as disks are sold: 1.2 MB.
    static func bytes(_ value: Double) -> String {
        var (value, unit) = (value, 0)
        let units = ["B", "kB", "MB", "GB", "TB", "PB"]
        while abs(value) >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return "\(unit == 0 ? count(value) : number(value)) \(units[unit])"
    }

    /// A whole number with separators: 12,345. Numbers that no counter of 64 bits holds are written with an exponent.
    static func count(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let whole = value.rounded()
        guard let magnitude = UInt64(exactly: whole.magnitude) else { return String(format: "%.2e", whole) }
        let digits = Array(String(magnitude))
        var text = whole < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// Three significant digits for small numbers, whole numbers beyond 1,000.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if value == value.rounded() || abs(value) >= 1000 { return count(value) }
        let decimals = abs(value) >= 100 ? 1 : abs(value) >= 10 ? 1 : abs(value) >= 1 ? 2 : 3
        return String(format: "%.\(decimals)f", value)
    }

    /// The number for programs: all digits, no separator.
    static func plain(_ value: Double) -> String { Int64(exactly: value).map { "\($0)" } ?? "\(value)" }

    /// - Parameter value: a fraction, 0 to 1.
    static func percent(_ value: Double) -> String { "\(number(value * 100)) %" }

    /// - Parameter value: seconds.
    static func duration(_ value: Double) -> String {
        switch abs(value) {
        case ..<120: "\(number(value)) s"
        case ..<7200: "\(number((value / 60).rounded())) min"
        case ..<172_800: "\(number((value / 3600).rounded())) h"
        default: "\(number((value / 86_400).rounded())) days"
        }
    }

    /// A time of the API, to the second.
    static func time(_ text: String) -> String {
        guard text.count >= 20, text.hasSuffix("Z") else { return visible(text) }
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
    }

    /// A text of the API for people, in the parts of the template `prose`: what stands between backticks is code, and
    /// times and sizes are written as everywhere else.
    static func prose(_ text: String) -> [JSONValue] {
        let parts = visible(text).split(separator: "`", omittingEmptySubsequences: false)
        // A single backtick begins no code.
        let last = parts.count.isMultiple(of: 2) ? parts.count - 1 : parts.count
        return parts.enumerated().compactMap { place, part -> JSONValue? in
            if place < last, !place.isMultiple(of: 2) { return ["code": .text(String(part))] }
            let plain = (place == last ? "`" : "") + withTimesAndSizes(String(part))
            return plain.isEmpty ? nil : ["text": .text(plain)]
        }
    }

    private static func withTimesAndSizes(_ text: String) -> String {
        text.replacing(#/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/#) { time(String($0.output)) }
            .replacing(#/\b(\d{4,19}) bytes\b/#) { match in Double(match.output.1).map(bytes) ?? String(match.output.0)
            }
            .replacing(#/\b(\d{4,19}) of (?=\d[\d.,]* [kMGTP]?B\b)/#) { match in
                "\(Double(match.output.1).map(bytes) ?? String(match.output.1)) of "
            }
    }

    /// `1 record`, `1,234 records`
    static func counted(_ number: JSONValue, _ noun: String) -> String {
        number.integer == 1 ? "1 \(noun)" : "\(count(number.number ?? 0)) \(noun)s"
    }

    static func counted(_ number: some BinaryInteger & Encodable, _ noun: String) -> String {
        counted(JSONValue.of(number), noun)
    }

    /// `1 device`, `1,234 devices`
    static func devices(_ number: JSONValue) -> String { counted(number, "device") }

    /// `1 test device`, `1,234 test devices`; `nil` for none.
    static func testDevices(_ number: Int64) -> String? {
        number < 1 ? nil : counted(.integer(number), "test device")
    }

    /// A word of the API as words: `non-compliant` and `lostAtCollector` become "non compliant", "lost at collector".
    static func words(_ text: String) -> String {
        var words = ""
        for character in text {
            if character == "-" || character == "_" {
                words.append(" ")
            } else if character.isUppercase, let last = words.last, last != " " {
                words += " " + character.lowercased()
            } else {
                words.append(character)
            }
        }
        return words
    }
}

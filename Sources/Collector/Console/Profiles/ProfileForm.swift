import Foundation
import JSON
import WireModel

/// The form of a profile: from a profile to the values of the fields, and back.
///
/// A field has its place in the profile as its name: `sampling.sampleSeconds`, `transmission.0.data`. What nobody
/// filled in is not said by the profile. Values are sent on as they are, so that the API refuses what it does not
/// accept, by the field's name.
enum ProfileForm {
    /// The last field. A browser's form that arrives without it was cut off.
    static let endField = "end"
    /// Empty rows at the end of each list of objects.
    private static let spareRows = 1
    /// Longer texts get a field of several lines.
    private static let lineLength = 1024
    /// An inherited value is cut after so many characters.
    private static let shownLength = 200

    // MARK: From a form

    /// - Throws: `Problem` if the form did not arrive whole, or a list in it cannot be read.
    static func profile(from form: FormFields) throws(Problem) -> JSONValue {
        guard form[endField] != nil else {
            throw .field("The form", "has more fields than a form can have. Edit the profile as JSON.")
        }
        return try object(ProfileField.all, "", FormIndex(form)) ?? .object([:])
    }

    /// The fields of a form by name, and the numbers of the rows of each list.
    private struct FormIndex {
        var values: [String: [String]] = [:]
        var rows: [String: Set<Int>] = [:]

        init(_ form: FormFields) {
            for field in form.fields {
                values[field.name, default: []].append(field.value)
                let parts = field.name.split(separator: ".", omittingEmptySubsequences: false)
                if parts.count > 2, let number = Int(parts[1]) { rows[String(parts[0]), default: []].insert(number) }
                if parts.count > 3, let number = Int(parts[2]) {
                    rows["\(parts[0]).\(parts[1])", default: []].insert(number)
                }
            }
        }

        /// The value without surrounding spaces; `nil` if it is empty.
        func text(_ name: String) -> String? {
            let text = values[name]?.first?.trimmingCharacters(in: .whitespacesAndNewlines)
            return text?.isEmpty == false ? text : nil
        }
    }

    /// `nil` if nothing in it is said.
    private static func object(
        _ fields: [ProfileField], _ path: String, _ form: FormIndex
    ) throws(Problem) -> JSONValue? {
        var members: [String: JSONValue] = [:]
        for field in fields {
            members[field.name] = try value(field.kind, path.isEmpty ? field.name : "\(path).\(field.name)", form)
        }
        return members.isEmpty ? nil : .object(members)
    }

    private static func value(
        _ kind: ProfileField.Kind, _ path: String, _ form: FormIndex
    ) throws(Problem) -> JSONValue? {
        switch kind {
        case .boolean:
            return form.text(path).map { $0 == "true" ? true : $0 == "false" ? false : .text($0) }
        case .number: return form.text(path).map(number)
        case .choice: return form.text(path).map { .text($0) }
        case .text:
            // Forms send each line break as two characters.
            let text = form.values[path]?.first?.replacing("\r\n", with: "\n") ?? ""
            return text.allSatisfy(\.isWhitespace) ? nil : .text(text)
        case .choices(_, let emptyDecides):
            let chosen = form.values[path] ?? []
            let isGiven = !chosen.isEmpty || emptyDecides && form.values["\(path).given"] != nil
            return isGiven ? .array(chosen.map { .text($0) }) : nil
        case .texts(let emptyDecides):
            if let kept = form.text("\(path).json") { return try ProfileJSON.value(kept, what: path) }
            let lines = (form.values[path]?.first ?? "").split(whereSeparator: \.isNewline).map(String.init)
            let isGiven = !lines.isEmpty || emptyDecides && form.values["\(path).given"] != nil
            return isGiven ? .array(lines.map { .text($0) }) : nil
        case .positions:
            let lines = (form.values[path]?.first ?? "").split(whereSeparator: \.isNewline)
            let positions = lines.filter { !$0.allSatisfy(\.isWhitespace) }.map(position)
            return positions.isEmpty ? nil : .array(positions)
        case .rows(let fields):
            var rows: [JSONValue] = []
            for number in (form.rows[path] ?? []).sorted() {
                if let row = try object(fields, "\(path).\(number)", form) { rows.append(row) }
            }
            return rows.isEmpty ? nil : .array(rows)
        case .map(let names, _):
            var members: [String: JSONValue] = [:]
            for name in names { members[name] = form.text("\(path).\(name)").map { .text($0) } }
            return members.isEmpty ? nil : .object(members)
        case .object(let fields): return try object(fields, path, form)
        }
    }

    private static func number(_ text: String) -> JSONValue {
        Int64(text).map { .integer($0) } ?? Double(text).flatMap { $0.isFinite ? .real($0) : nil } ?? .text(text)
    }

    /// A line such as `52.5163, 13.3777`. What is missing or too much is sent on, to be refused by name.
    private static func position(_ line: Substring) -> JSONValue {
        let parts = line.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map {
            number($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        return parts.count == 2 ? ["latitude": parts[0], "longitude": parts[1]] : ["latitude": parts[0]]
    }

    // MARK: To a form

    private static func line(_ position: JSONValue) -> String {
        let parts = [position["latitude"], position["longitude"]].filter { $0 != .null }
        return parts.map { $0.text ?? $0.compactText }.joined(separator: ", ")
    }

    /// The fields with their values, as `profile-field.mustache` shows them.
    /// - Parameters:
    ///   - inherited: the profile that holds where this one says nothing; `nil` if there is none.
    ///   - invalid: the name of a field that the API refused.
    static func fields(_ profile: JSONValue, inherited: JSONValue?, invalid: String?) -> JSONValue {
        // The API names a row in brackets: transmission[0].data.
        let invalid = invalid?.replacing("[", with: ".").replacing("]", with: "")
        return .array(views(ProfileField.all, profile, "", inherited, invalid))
    }

    private static func views(
        _ fields: [ProfileField], _ value: JSONValue, _ path: String, _ inherited: JSONValue?, _ invalid: String?,
        isCell: Bool = false
    ) -> [JSONValue] {
        fields.map { field in
            let path = path.isEmpty ? field.name : "\(path).\(field.name)"
            return view(field, value[field.name], path, inherited?[field.name], invalid, isCell: isCell)
        }
    }

    private static func view(
        _ field: ProfileField, _ value: JSONValue, _ path: String, _ inherited: JSONValue?, _ invalid: String?,
        isCell: Bool
    ) -> JSONValue {
        var view: [String: JSONValue] = [
            "name": .text(path), "label": .text(field.name), "description": .text(field.description), "value": value,
            "isInvalid": .boolean(invalid.map { $0 == path || $0.hasPrefix(path + ".") } ?? false),
        ]
        // The columns of a table are explained below it.
        if !isCell, !field.description.isEmpty { view["hint"] = .text("\(path)-hint") }
        if let inherited, inherited != .null {
            let text = inherited.text ?? inherited.compactText
            view["inherited"] = .text(text.count > shownLength ? text.prefix(shownLength) + "…" : text)
        }
        switch field.kind {
        case .boolean:
            view["isSelect"] = true
            view["select"] = Choice.list(
                [("", "not said"), ("true", "yes"), ("false", "no")],
                chosen: value.isTrue ? "true" : value == .boolean(false) ? "false" : value.text)
        case .choice(let words):
            view["isSelect"] = true
            view["select"] = Choice.list([("", "not said")] + words.map { ($0, $0) }, chosen: value.text)
        case .number(let isWhole, let minimum, let maximum):
            view["isNumber"] = true
            view["mode"] = isWhole ? "numeric" : "decimal"
            view["range"] = JSONValue(range(minimum, maximum))
        case .text(let maximumLength):
            let isLong = maximumLength ?? 0 > lineLength
            view[isLong ? "isLongText" : "isText"] = true
            view["maximumLength"] = maximumLength.map { JSONValue($0) }
        case .choices(let words, let emptyDecides):
            // The chosen ones come first and in their order, so that the form sends them back in it.
            let chosen = value.items.compactMap(\.text)
            let words = chosen + words.filter { !chosen.contains($0) }
            view["isBoxes"] = true
            view["boxes"] = .array(
                words.map { ["value": .text($0), "isChosen": .boolean(chosen.contains($0)), "name": .text(path)] })
            view["emptyDecides"] = .boolean(emptyDecides)
            view["isGiven"] = .boolean(value != .null)
        case .texts(let emptyDecides):
            let texts = value.items.compactMap(\.text)
            // One text to a line is not enough for these.
            if texts.contains(where: { $0.isEmpty || $0.contains(where: \.isNewline) })
                || texts.count < value.items.count
            {
                view["kept"] = .text(value.compactText)
            } else {
                view["isTexts"] = true
                view["lines"] = .text(texts.joined(separator: "\n"))
                view["emptyDecides"] = .boolean(emptyDecides)
                view["isGiven"] = .boolean(value != .null)
            }
        case .positions:
            view["isTexts"] = true
            view["lines"] = .text(value.items.map(line).joined(separator: "\n"))
        case .rows(let fields):
            let rows = value.items + Array(repeating: .null, count: spareRows)
            view["isRows"] = true
            view["columns"] = .array(
                fields.map { ["label": .text($0.name), "description": .text($0.description)] })
            view["rows"] = .array(
                rows.enumerated().map { number, row in
                    ["cells": .array(views(fields, row, "\(path).\(number)", nil, invalid, isCell: true))]
                })
        case .map(let names, let words):
            view["isObject"] = true
            view["fields"] = .array(
                names.map { name in
                    self.view(
                        ProfileField(name, .choice(words), ""), value[name], "\(path).\(name)", inherited?[name],
                        invalid, isCell: false)
                })
        case .object(let fields):
            view["isObject"] = true
            view["fields"] = .array(views(fields, value, path, inherited, invalid))
        }
        return .object(view)
    }
}

extension ProfileForm {
    /// The range of a number; `nil` for any.
    private static func range(_ minimum: Double?, _ maximum: Double?) -> String? {
        switch (minimum.map(DisplayText.count), maximum.map(DisplayText.count)) {
        case (let minimum?, let maximum?): "\(minimum) to \(maximum)"
        case (let minimum?, nil): "\(minimum) or more"
        case (nil, let maximum?): "at most \(maximum)"
        case (nil, nil): nil
        }
    }
}

/// A profile as text.
enum ProfileJSON {
    /// - Parameter what: names the text in the refusal.
    /// - Throws: `Problem` if it is no JSON.
    static func value(_ text: String, what: String) throws(Problem) -> JSONValue {
        do throws(JSONParser.Fault) { return try JSONValue(parsing: Data(text.utf8), limits: .request) } catch {
            let before = Data(text.utf8).prefix(error.place)
            let line = before.reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
            let reason = error.repeatedName.map { "the name \($0) stands twice in an object" } ?? "it is not as JSON is"
            throw Problem(
                status: 422, code: .malformed, title: "No JSON", detail: "In line \(line) of \(what): \(reason).")
        }
    }
}

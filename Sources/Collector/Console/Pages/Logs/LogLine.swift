import CollectorAPI
import Foundation
import JSON
import WireModel

/// One line of a log as templates show it: its address, its parts with the searched words marked, and its details.
struct LogLine {
    /// Characters of a message in a list. The page of the line shows all of it.
    static let maximumShown = 1000

    private let line: LogLineView
    private let name: String
    private let filter: LogFilter
    private let isLabelled: Bool
    private let isHit: Bool
    private let isCut: Bool

    /// - Parameters:
    ///   - names: of devices, by their ids.
    ///   - isLabelled: the line names its device, because lines of several are shown.
    ///   - hit: the id of the line that the page is about. That one is shown whole.
    init(
        _ line: LogLineView, _ names: [String: String], _ filter: LogFilter, isLabelled: Bool = false,
        hit: String? = nil
    ) {
        self.line = line
        self.filter = filter
        self.isLabelled = isLabelled
        name = names[line.device] ?? line.device
        isHit = line.id == hit
        isCut = !isHit && line.text.count > Self.maximumShown
    }

    func values(base: String) -> JSONValue {
        let address = filter.fields.with("around", line.id).address("/logs/view") + "#hit"
        let (text, metadata) = (line.text, line.metadata ?? "")
        return JSONValue.of(line).with([
            "address": .text(base + address), "isHit": .boolean(isHit),
            "isCrash": .boolean(line.type == .crash),
            "shownTime": .text(Self.time(line.time)),
            "deviceName": .text(name), "label": isLabelled ? .text(name) : .null,
            "deviceAddress": .text("\(base)/devices/\(line.device.percentEncoded)"),
            "category": marked(line.category ?? ""),
            "message": marked(isCut ? String(text.prefix(Self.maximumShown)) : text),
            "left": isCut ? JSONValue(text.count - Self.maximumShown) : .null,
            "shownMetadata": metadata.count <= 200 ? marked(Self.spaced(metadata)) : .null,
            "fields": .array(Self.fields(metadata)),
            "chunkAddress": .text(base + FormFields([("ids", line.chunk)]).address("/logs")),
        ])
    }

    /// The time to the microsecond, because lines are ordered by it.
    private static func time(_ text: String) -> String {
        guard text.count >= 20, text.hasSuffix("Z") else { return text }
        return "\(text.prefix(10)) \(text.dropFirst(11).dropLast())"
    }

    /// `key=value`, one space between.
    private static func fields(_ metadata: String) -> [JSONValue] {
        metadata.split(separator: " ").map { field in
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return ["name": .text(String(parts[0])), "value": .text(parts.count > 1 ? spaced(parts[1]) : "")]
        }
    }

    /// The text with spaces in values, which the line has escaped. A backslash of the value itself is doubled there.
    private static func spaced(_ text: some StringProtocol) -> String {
        text.components(separatedBy: #"\\"#).map { $0.replacing(#"\u{20}"#, with: " ") }.joined(separator: #"\\"#)
    }

    /// The text in parts, of which those that were searched for are marked. The API ignores the case of A to Z.
    private func marked(_ text: String) -> JSONValue {
        guard let word = filter.fields["text"], !text.isEmpty else {
            return text.isEmpty ? .array([]) : [["text": .text(text)]]
        }
        return .array(
            Self.parts(of: text, searchedFor: word).map { ["text": .text($0.text), "isMarked": .boolean($0.isMarked)] })
    }

    static func parts(of text: String, searchedFor word: String) -> [(text: String, isMarked: Bool)] {
        func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
        let (bytes, wanted) = (Array(text.utf8), word.utf8.map(lowered))
        guard !wanted.isEmpty else { return [(text, false)] }
        var (parts, begin, place) = ([(text: String, isMarked: Bool)](), 0, 0)
        func append(_ range: Range<Int>, _ isMarked: Bool) {
            if !range.isEmpty { parts.append((String(decoding: bytes[range], as: UTF8.self), isMarked)) }
        }
        while place + wanted.count <= bytes.count {
            guard (0..<wanted.count).allSatisfy({ lowered(bytes[place + $0]) == wanted[$0] }) else {
                place += 1
                continue
            }
            append(begin..<place, false)
            append(place..<place + wanted.count, true)
            place += wanted.count
            begin = place
        }
        append(begin..<bytes.count, false)
        return parts
    }
}

import CollectorAPI
import CommandKit
import FoundationEssentials
import JSON
import WireModel

/// The form of exported records.
enum ExportFormat: String, CaseIterable, Sendable {
    /// One JSON object to a line.
    case json
    /// A line for each record (RFC 4180), with names at the top.
    case csv
}

/// What is exported, and how much of it has been written: all that is needed to go on later.
struct ExportPlan: Equatable {
    /// Where the records come from, so that another collector's records are not added.
    var collector: String
    var organization: String?
    var format: ExportFormat
    /// The queries of the lists, one after the other. Times are fixed, so that a later run asks for the same.
    var lists: [[[String]]]
    /// The list that is read now; as many as there are at the end.
    var list = 0
    /// The page that comes next; `nil` for a list's first one.
    var cursor: String?
    /// Bytes of the pages that are written whole.
    var bytes: Int64 = 0
    var records: Int64 = 0
    /// Damaged record files that the collector left out.
    var missing: Set<String> = []

    var isComplete: Bool { list >= lists.count }
}

/// As JSON, in the file beside an export that is not whole.
extension ExportPlan {
    private static let version: Int64 = 1

    var json: JSONValue {
        .object([
            "version": .integer(Self.version), "collector": .text(collector),
            "organization": organization.map(JSONValue.text) ?? .null, "format": .text(format.rawValue),
            "lists": .array(lists.map { .array($0.map { .array($0.map(JSONValue.text)) }) }),
            "list": .integer(Int64(list)), "cursor": cursor.map(JSONValue.text) ?? .null, "bytes": .integer(bytes),
            "records": .integer(records), "missing": .array(missing.sorted().map(JSONValue.text)),
        ])
    }

    /// `nil` for what no version of this program wrote.
    init?(_ value: JSONValue) {
        guard value["version"]?.int64 == Self.version, let collector = value["collector"]?.string,
            let format = value["format"]?.string.flatMap(ExportFormat.init), let list = value["list"]?.int64,
            let bytes = value["bytes"]?.int64, let records = value["records"]?.int64, list >= 0, bytes >= 0
        else { return nil }
        self.init(
            collector: collector, organization: value["organization"]?.string, format: format,
            lists: (value["lists"]?.list ?? []).map { $0.list.map { $0.list.compactMap(\.string) } }, list: Int(list),
            cursor: value["cursor"]?.string, bytes: bytes, records: records,
            missing: Set((value["missing"]?.list ?? []).compactMap(\.string)))
        guard lists.allSatisfy({ $0.allSatisfy { $0.count == 2 } }) else { return nil }
    }
}

/// Records as lines. Pure.
enum ExportText {
    private static let columns = [
        "time", "device", "deviceName", "kind", "module", "application", "name", "value", "test", "receivedAt", "epoch",
        "number", "data",
    ]

    /// What stands before the first record.
    static func head(_ format: ExportFormat) -> Data {
        switch format {
        case .json: Data()
        case .csv: CSV.text([columns])
        }
    }

    /// The lines of a page. What is hidden or steers a terminal is escaped in JSON.
    static func lines(_ items: [JSONValue], _ format: ExportFormat) throws(CommandError) -> Data {
        switch format {
        case .json:
            var lines = Data()
            for item in items {
                lines.append(Data(item.compactText.utf8).escapingHiddenCharactersInJSON)
                lines.append(UInt8(ascii: "\n"))
            }
            return lines
        case .csv: return CSV.text(items.map(row))
        }
    }

    private static func row(_ item: JSONValue) -> [String] {
        func cell(_ path: String) -> String {
            switch item.at(path) {
            case nil, .null?: ""
            case .text(let text)?: text
            case let value?: value.compactText
            }
        }
        let data = ["event", "sample", "beacon", "body"].first { item[$0] != nil } ?? ""
        return [
            cell("time"), cell("device"), cell("deviceName"), cell("kind"), cell("module"), cell("application"),
            cell("event.name"), cell("event.value"), cell("test"), cell("receivedAt"), cell("epoch"), cell("number"),
            cell(data),
        ]
    }
}

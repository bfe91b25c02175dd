import CollectorStore
import Foundation
import WireModel

/// A stored record as one line of NDJSON: what the API shows of it, and whose, of which stream and kind it is.
package struct ExportLine: Encodable {
    private let stream: String
    private let kind: String
    private let organization: String
    private let record: RecordView

    private enum Key: CodingKey { case stream, kind, organization }

    /// For who may read the data directory: nothing is hidden.
    package init(_ entry: RecordScan.Entry) throws {
        stream = "\(entry.stream)"
        kind = RecordKindName.text(entry.record.header.kind)
        organization = entry.organization
        record = try RecordView(entry.record, for: .administrator)
    }

    package func encode(to encoder: any Encoder) throws {
        try record.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(stream, forKey: .stream)
        try container.encode(kind, forKey: .kind)
        try container.encode(organization, forKey: .organization)
    }
}

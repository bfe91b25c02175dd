import LogStore
import Testing
import WireModel

/// The lines that a reader of a store sees of all intakes, without those that the intake adds about itself.
struct StoredLines {
    private(set) var messages: [String] = []
    /// The metadata of each message.
    private(set) var metadata: [String] = []
    /// `message metadata` of lines about the intake.
    private(set) var reports: [String] = []

    init(_ path: String) throws {
        let directory = StoreDirectory(path: path)
        let snapshot = try StoreSnapshot(directory, kinds: [.intake])
        #expect(snapshot.problems.isEmpty)
        let inflater = try BlockInflater()
        for segment in snapshot.segments {
            let reader = try SegmentReader.open(segment.name, in: directory, inflater: inflater)
            try reader.read(0..<Int.max, where: { _ in true }) { text, _ in
                for line in LineSlices(text) {
                    guard let fields = LogLine(line) else { continue }
                    func part(_ range: Range<Int>) -> String {
                        String(decoding: UnsafeRawBufferPointer(rebasing: line[range]), as: UTF8.self)
                    }
                    if part(fields.category) == "intake" {
                        reports.append("\(part(fields.message)) \(part(fields.metadata))")
                    } else {
                        messages.append(part(fields.message))
                        metadata.append(part(fields.metadata))
                    }
                }
            }
        }
    }
}

import Foundation
import Testing
import WireModel

@testable import LogStore

/// Nothing of a secret is in any byte of the directory, however it came into a line.
@Suite struct ScrubbingOnDiskTests {
    private static let secret = "tōken-9f86d081=x\ty\\z"

    private func ways(_ secret: String) -> [(message: String, category: String, metadata: [String: String])] {
        let long = String(repeating: "0123456789", count: 6545)
        return [
            (secret, "c", [:]), ("before \(secret) after", "c", [:]), ("\n\(secret)\t\(secret)\u{1B}", "c", [:]),
            ("m", secret, [:]),
            ("m", "c.\(secret)", ["a": "b"]), ("m", "c", ["k": secret]), ("m", "c", [secret: "v"]),
            ("m", "c", ["k": "x\(secret)y", "l": "1"]),
            (String(repeating: secret, count: 5000), "c", [:]),
        ] + (0..<40).map { (String(long.dropLast($0)) + secret + secret, "c", [:]) }
    }

    @Test(arguments: [
        LogScrubbing(values: [secret]), LogScrubbing(values: [secret, "tōken", "9f86d081", "y\\z", "=x\ty"]),
        LogScrubbing(patterns: [#"tōken-[0-9a-f]{8}=x\sy\\z"#]),
        LogScrubbing(values: [secret], patterns: [#"tōken\S*"#]),
    ])
    func `No byte of a secret is on disk`(_ scrubbing: LogScrubbing) async throws {
        let temporary = try TemporaryStore()
        var configuration = LogStore.Configuration(directory: temporary.directory.path, applicationName: "test")
        configuration.scrubbing = scrubbing
        let store = try LogStore(configuration)
        for (index, way) in ways(Self.secret).enumerated() {
            store.log(LogLevel.allCases[index % 4], way.message, category: way.category, metadata: way.metadata)
        }
        store.flush()
        try check(temporary)
        await store.close()
        try check(temporary)
        let log = try WrittenLog(temporary.directory)
        #expect(log.faults.isEmpty && log.lines.count == ways(Self.secret).count)
    }

    private func check(_ temporary: TemporaryStore) throws {
        let bytes = try WrittenLog.everyByte(temporary.directory)
        // Digests stand there in hexadecimal digits: a shorter piece of the number is in one of them now and then.
        for part in [Self.secret, "tōken", "9f86d081", "9f86d0", "x\\ty", "y\\\\z", "tōk"] {
            #expect(bytes.range(of: Data(part.utf8)) == nil, "\(part)")
        }
    }

    @Test func `Rules change while the program runs`() async throws {
        let temporary = try TemporaryStore()
        let store = try LogStore(LogStore.Configuration(directory: temporary.directory.path, applicationName: "test"))
        store.information("one two")
        try store.setScrubbing(LogScrubbing(values: ["one"]))
        store.information("one two")
        let error = #expect(throws: LogStoreError.self) { try store.setScrubbing(LogScrubbing(patterns: ["("])) }
        #expect(error?.code == .invalid)
        store.information("one two")
        try store.setScrubbing(LogScrubbing(patterns: ["t.."]))
        store.information("one two")
        try store.setScrubbing(LogScrubbing())
        store.information("one two")
        await store.close()
        #expect(
            try WrittenLog(temporary.directory).lines.map(\.message)
                == ["one two", "[scrubbed] two", "[scrubbed] two", "one [scrubbed]", "one two"])
    }
}

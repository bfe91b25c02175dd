import ArgumentParser
import CollectorAPI
import CollectorClient
import Crypto
import FoundationEssentials
import LogStore
import WireModel

struct VerifyCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks every file of the store: sums, digests, blocks, the form and the numbers of lines.",
        discussion: """
            Reads everything and changes nothing. Ends with 1 where something is damaged. At a collector: the text of every chunk against the digest \
            that the device gave.
            """)

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    /// As printed with --json.
    struct Result: Codable, Equatable {
        var isWhole: Bool
        var segments: Int
        var lines: Int
        var bytes: Int
        var findings: [StoreVerifier.Finding]
    }

    func runLocally() throws {
        let directory = try store.directory()
        var progress = ProgressLine(isShown: !json)
        let verifier = try StoreVerifier(directory) { done, all in progress.show(done, of: all, "segments checked") }
        progress.clear()
        try Self.print(
            Result(
                isWhole: verifier.isWhole, segments: verifier.segments, lines: verifier.lines, bytes: verifier.bytes,
                findings: verifier.findings), isJSON: json, pieces: "segments")
        if !verifier.isWhole {
            throw LogCommandError(.failed, "\(directory.path) is damaged; what is readable can still be fetched")
        }
    }

    static func print(_ result: Result, isJSON: Bool, pieces: String) throws(LogCommandError) {
        var output = StandardOutput()
        if isJSON {
            try output.json(result)
        } else {
            for finding in result.findings {
                try output.line(
                    "\(finding.isDamage ? "damaged" : "note   ")  \(finding.file.escapingControlCharacters): \(finding.message)"
                )
            }
            let summary = "\(result.segments) \(pieces), \(result.lines) lines, \(ByteText.of(result.bytes)) of text"
            if result.isWhole { try output.line("\(summary): everything is as it was written") }
        }
        try output.flush()
    }
}

extension VerifyCommand {
    /// Reads every chunk again as the collector has it, and holds it against the digest that the device gave.
    func runRemotely() async throws {
        let result = try await collector.access().ask { client, device in
            let chunks = try await client.chunks(LogQuery(device))
            var progress = ProgressLine(isShown: !json)
            var result = Result(isWhole: true, segments: chunks.count, lines: 0, bytes: 0, findings: [])
            for (position, chunk) in chunks.enumerated() {
                result.lines += Int(chunk.lines)
                result.bytes += chunk.rawBytes
                if let finding = try await Self.finding(chunk, of: device, client) {
                    result.findings.append(finding)
                    result.isWhole = result.isWhole && !finding.isDamage
                }
                progress.show(position + 1, of: chunks.count, "chunks checked")
            }
            progress.clear()
            return result
        }
        try Self.print(result, isJSON: json, pieces: "chunks")
        if !result.isWhole {
            throw LogCommandError(
                .failed,
                "the collector's logs are not what the device sent; `ws1collector verify` there names the files")
        }
    }

    private static func finding(_ chunk: ChunkView, of device: DeviceID, _ client: CollectorClient) async throws
        -> StoreVerifier.Finding?
    {
        let name = "chunk \(chunk.id)"
        guard let expected = chunk.sha256 else {
            return StoreVerifier.Finding(
                file: name, message: "has no digest in the collector's list: not checked", isDamage: false)
        }
        // Such lines are told with the line before them, where a device may have had them first.
        let isOdd = chunk.otherLines ?? 0 > 0
        var hash = SHA256()
        var bytes = 0
        try await client.text(LogQuery(device).with(ids: [chunk.id]).with("order", "number")) { text in
            bytes += text.count
            hash.update(bufferPointer: text)
        }
        guard Data(hash.finalize()).hexadecimal != expected else { return nil }
        return isOdd
            ? StoreVerifier.Finding(
                file: name, message: "holds lines of another form: not checked by its digest", isDamage: false)
            : StoreVerifier.Finding(
                file: name, message: "is \(bytes) bytes of text of another SHA-256, the device sent \(chunk.rawBytes)",
                isDamage: true)
    }
}

import ArgumentParser
import CollectorAPI
import CollectorClient
import CommandKit
import Crypto
import FoundationEssentials
import LogStore
import TelemetryBasics
import WireModel

struct VerifyCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks every file of the store: checksums, digests, blocks, the form and the numbers of lines.",
        discussion: """
            Reads everything and changes nothing. The exit code is 1 if something is damaged, and 75 if lines are \
            encrypted and their key is not at hand. At a collector it \
            compares the text of each chunk with the digest that the device gave.
            """)

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var application: ApplicationOptions
    @OptionGroup(title: "At a collector") var chunkOptions: ChunkOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    /// The result as printed with --json.
    struct Result: Codable, Equatable {
        var isWhole: Bool
        var segments: Int
        var lines: Int
        var bytes: Int
        var findings: [StoreVerifier.Finding]
    }

    func runLocally() throws {
        guard application.identifier == nil else {
            throw CommandError(.usage, "a store on this machine is checked as a whole: leave out --application")
        }
        let directory = try store.directory()
        var progress = ProgressLine(isShown: !json)
        let verifier = try StoreVerifier(directory) { done, all in progress.show(done, of: all, "segments checked") }
        progress.clear()
        try print(
            Result(
                isWhole: verifier.isWhole, segments: verifier.segments, lines: verifier.lines, bytes: verifier.bytes,
                findings: verifier.findings), piece: "segment",
            damage: "\(directory.path) is damaged. fetch still copies the lines that can be read",
            locked: verifier.locked)
    }

    /// - Throws: `.failed` with the words of `damage`, if the result is not whole.
    /// - Parameter locked: why lines could not be checked.
    private func print(_ result: Result, piece: String, damage: String, locked: LogStoreError? = nil)
        throws(CommandError)
    {
        var output = StandardOutput()
        if json {
            try output.json(result)
        } else {
            for finding in result.findings {
                try output.line(
                    """
                    \(finding.isDamage ? "damaged" : "note   ")  \(finding.file.escapingControlCharacters): \
                    \(finding.message)
                    """
                )
            }
            let summary =
                """
                \(CountText.of(result.segments, piece)), \(CountText.of(result.lines, "line")), \
                \(ByteText.of(result.bytes)) of text
                """
            if result.isWhole, locked == nil { try output.line("\(summary): everything is as it was written") }
        }
        try output.flush()
        if !result.isWhole { throw CommandError(.failed, damage) }
        if let locked { throw CommandError(.tryAgain, "not everything could be checked: \(locked.message)") }
    }
}

extension VerifyCommand {
    func runRemotely() async throws {
        let result = try await ask { client, scope in
            let chunks = try await client.chunks(LogQuery(scope))
            var progress = ProgressLine(isShown: !json)
            var result = Result(isWhole: true, segments: chunks.count, lines: 0, bytes: 0, findings: [])
            for (position, chunk) in chunks.enumerated() {
                result.lines += Int(chunk.lines)
                result.bytes += chunk.rawBytes
                if let finding = try await Self.finding(chunk, client) {
                    result.findings.append(finding)
                    result.isWhole = result.isWhole && !finding.isDamage
                }
                progress.show(position + 1, of: chunks.count, "chunks checked")
            }
            progress.clear()
            return result
        }
        try print(
            result, piece: "chunk",
            damage: "the collector's logs are not what devices sent; `ws1collector verify` there names the files")
    }

    private static func finding(
        _ chunk: ChunkView, _ client: CollectorClient
    ) async throws -> StoreVerifier.Finding? {
        let name = "chunk \(chunk.id)"
        guard let expected = chunk.sha256 else {
            return StoreVerifier.Finding(
                file: name, message: "has no digest in the collector's list: not checked", isDamage: false)
        }
        var hash = SHA256()
        var bytes = 0
        try await client.text(LogQuery(LogScope(ids: [chunk.id])).with("order", "number")) { text in
            bytes += text.count
            hash.update(bufferPointer: text)
        }
        guard Data(hash.finalize()).hexadecimal != expected else { return nil }
        // The collector puts malformed lines behind the line before them. On the device they may have come first.
        let hasMalformedLines = chunk.otherLines ?? 0 > 0
        return StoreVerifier.Finding(
            file: name,
            message: hasMalformedLines
                ? "holds malformed lines: not checked by its digest"
                : "has \(bytes) bytes of text with another SHA-256; the device sent \(chunk.rawBytes) bytes",
            isDamage: !hasMalformedLines)
    }
}

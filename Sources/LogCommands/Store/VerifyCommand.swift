import ArgumentParser
import LogStore

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks every file of the store: sums, digests, blocks, the form and the numbers of lines.",
        discussion: "Reads everything and changes nothing. Ends with 1 where something is damaged.")

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var store: StoreOptions

    /// As printed with --json.
    struct Result: Codable, Equatable {
        var isWhole: Bool
        var segments: Int
        var lines: Int
        var bytes: Int
        var findings: [StoreVerifier.Finding]
    }

    func run() throws {
        let directory = try store.directory()
        var progress = ProgressLine(isShown: !json)
        let verifier = try StoreVerifier(directory) { done, all in progress.show(done, of: all, "segments checked") }
        progress.clear()
        var output = StandardOutput()
        if json {
            try output.json(
                Result(
                    isWhole: verifier.isWhole, segments: verifier.segments, lines: verifier.lines, bytes: verifier.bytes,
                    findings: verifier.findings))
        } else {
            for finding in verifier.findings {
                try output.line("\(finding.isDamage ? "damaged" : "note   ")  \(finding.file): \(finding.message)")
            }
            let summary = "\(verifier.segments) segments, \(verifier.lines) lines, \(ByteText.of(verifier.bytes)) of text"
            if verifier.isWhole { try output.line("\(summary): everything is as it was written") }
        }
        try output.flush()
        if !verifier.isWhole {
            throw LogCommandError(.failed, "\(directory.path) is damaged; what is readable can still be fetched")
        }
    }
}

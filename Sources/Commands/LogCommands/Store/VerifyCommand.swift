import ArgumentParser
import LogStore
import WireModel

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks every file of the store: sums, digests, blocks, the form and the numbers of lines.",
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

    func run() async throws {
        switch try collector.place(data: store.data) {
        case .store: try runLocally()
        case .collector: try await runRemotely()
        }
    }

    private func runLocally() throws {
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
                    "\(finding.isDamage ? "damaged" : "note   ")  \(finding.file.escapingControlCharacters): \(finding.message)")
            }
            let summary = "\(result.segments) \(pieces), \(result.lines) lines, \(ByteText.of(result.bytes)) of text"
            if result.isWhole { try output.line("\(summary): everything is as it was written") }
        }
        try output.flush()
    }
}

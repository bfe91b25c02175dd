import Crypto
import FoundationEssentials
import LogStore
import WireModel

extension VerifyCommand {
    /// Reads every chunk again as the collector has it, and holds it against the digest that the device gave.
    func runRemotely() async throws {
        let result = try await CollectorClient.with(try collector.access()) { client in
            let chunks = try await client.chunks(try RemoteQuery(client.device))
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
        try Self.print(result, isJSON: json, pieces: "chunks")
        if !result.isWhole {
            throw LogCommandError(.failed, "the collector's logs are not what the device sent; `ws1collector verify` there names the files")
        }
    }

    private static func finding(_ chunk: RemoteChunk, _ client: CollectorClient) async throws -> StoreVerifier.Finding? {
        let name = "chunk \(chunk.id)"
        guard let expected = chunk.sha256 else {
            return StoreVerifier.Finding(file: name, message: "has no digest in the collector's list: not checked", isDamage: false)
        }
        // Such lines are told with the line before them, where a device may have had them first.
        let isOdd = chunk.otherLines ?? 0 > 0
        var hash = SHA256()
        var bytes = 0
        let query = try RemoteQuery(client.device).with(ids: [chunk.id]).with("order", "number")
        try await client.content(query.path(CollectorClient.contentRoute)) { text in
            bytes += text.count
            hash.update(bufferPointer: text)
        }
        guard Data(hash.finalize()).hexadecimal != expected else { return nil }
        return isOdd
            ? StoreVerifier.Finding(file: name, message: "holds lines of another form: not checked by its digest", isDamage: false)
            : StoreVerifier.Finding(
                file: name, message: "is \(bytes) bytes of text of another SHA-256, the device sent \(chunk.rawBytes)", isDamage: true)
    }
}

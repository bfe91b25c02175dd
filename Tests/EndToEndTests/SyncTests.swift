import Foundation
import Testing

/// The collector answers 200 only when what it says is on disk: counted from its system calls, not from its word.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SyncTests {
    @Test func `Every answered batch was synced before the answer`() async throws {
        try await Deployment.run { deployment in
            let trace = deployment.directory + "/trace"
            let calls = "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,fsync,fdatasync"
            // -D: the collector is our child and gets our signals; strace looks on from aside.
            try await deployment.startCollector(under: [
                "strace", "-D", "-f", "-yy", "-s", "96", "-e", calls, "-o", trace,
            ])
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            _ = try await deployment.record(events: 10, prefix: "synced")
            try await deployment.waitUntilSent()
            try await deployment.stopAgent()
            try await deployment.stopCollector()

            try await deployment.until("strace has seen the collector end") {
                Program.text(trace).contains("+++ exited with 0 +++")
            }
            let text = Program.text(trace)
            let answers = SyncTrace(text) { $0.contains("/records/") && $0.hasSuffix("-wal") }.answers
            #expect(answers.count >= 3, "only \(answers.count) answered batches were seen; was the collector traced?")
            #expect(
                answers.contains { $0.wrote },
                "no batch was seen to be written; has the name of the record files changed?")
            // A part that came again is answered without a write: what it says was synced by the answer before.
            let early = answers.filter { $0.wrote && !$0.synced || !$0.unsynced.isEmpty }
            #expect(
                early.isEmpty,
                "answered before the sync: \(early.map { around($0.line, of: text) }.joined(separator: "\n\n"))")
        }
    }

    private func around(_ line: Int, of text: String) -> String {
        text.split(separator: "\n")[max(0, line - 25)..<line].joined(separator: "\n")
    }
}

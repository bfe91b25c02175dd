import Foundation
import Synchronization
import TestKit
import Testing

/// A request whose answer was lost is one request, however often it is sent.
@Suite(.timeLimit(.minutes(5))) struct RemoteRepeatTests {
    private static let command =
        #"{"id":"33333333-3333-4333-8333-333333333333","device":"\#(RemoteScript.device)","kind":"request-logs","#
        + #""arguments":{},"issuedAt":"a","issuedBy":"b","expiresAt":"c","state":"queued","progress":0}"#

    /// Whether three attempts end without an answer, or with what a proxy answers for a collector that was killed.
    @Test(arguments: [nil, 502, 504])
    func `A request for logs is repeated as the same one until a collector that breaks off answers`(
        _ status: Int?
    ) async throws {
        let keys = Mutex<[String]>([])
        let server = try ScriptedCollector { head, _ in
            var answer = ScriptedCollector.Answer.json(Self.command)
            guard head.hasPrefix("POST"), let key = head.firstMatch(of: /Idempotency-Key: (\S+)/.ignoresCase()) else {
                return answer
            }
            let attempts = keys.withLock { keys in
                keys.append(String(key.1))
                return keys.count
            }
            guard attempts < 4 else { return answer }
            guard let status else {
                answer.sentBytes = 5
                return answer
            }
            return ScriptedCollector.Answer(status: attempts == 2 ? 503 : status, headers: [:], body: Data())
        }
        defer { server.stop() }
        let run = try await ProgramRun.ws1log(
            ["request", "--collector", server.url, "--device", RemoteScript.device], environment: ["WS1_TOKEN": "t"])
        #expect(run.status == 0 && run.text.contains("33333333-3333-4333-8333-333333333333"), "\(run.errors)")
        let seen = keys.withLock { $0 }
        #expect(seen.count == 4 && Set(seen).count == 1)
    }
}

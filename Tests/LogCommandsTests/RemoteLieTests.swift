import Foundation
import TestKit
import Testing
import WireModel

@testable import LogCommands

/// The built `ws1log` at a collector whose list cannot be.
@Suite(.timeLimit(.minutes(5))) struct RemoteLieTests {
    /// What a chunk's entry says in place of the truth.
    @Test(arguments: [
        #""rawBytes":-5"#, #""rawBytes":9223372036854775807"#, #""storedBytes":9223372036854775807"#,
        #""storedBytes":-1"#,
        #""levels":{"error":18446744073709551615,"warning":18446744073709551615,"information":3,"verbose":0}"#,
        #""levels":{"error":1000000,"warning":0,"information":0,"verbose":0}"#,
    ])
    func `Sizes that no chunk has are refused`(_ lie: String) async throws {
        let script = RemoteScript(chunks: 2, bytes: 10_000)
        let field = String(lie.prefix { $0 != ":" })
        let list = script.list().replacing(try Regex("\(field):(-?[0-9]+|\\{[^}]*\\})"), with: lie)
        let server = try ScriptedCollector { head, _ in
            head.contains("/content") ? .content(script.content(head)) : .json(list)
        }
        defer { server.stop() }
        for command in ["list", "stats", "verify"] {
            let run = try await ProgramRun.ws1log(
                [command, "--collector", server.url, "--device", RemoteScript.device],
                environment: ["WS1_TOKEN": "s3cret-token"])
            #expect(
                run.status == 1 && run.errors.contains("which no chunk has"), "\(command): \(run.status) \(run.errors)")
        }
    }
}

import Crypto
import Foundation
import Glibc
import TestKit
import Testing
import WireModel

@testable import LogCommands

@Suite struct RemoteFetchTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "ws1log-remote-\(UUID().uuidString)")

    private func run(_ server: ScriptedCollector, _ arguments: [String]) async throws -> ProgramRun {
        try await ProgramRun.ws1log(
            arguments + ["--collector", server.url, "--device", RemoteScript.device],
            environment: ["WS1_TOKEN": "s3cret-token"])
    }

    private func fetch(_ server: ScriptedCollector, _ arguments: String...) async throws -> ProgramRun {
        try await run(server, ["fetch", "--chunks", "--output", folder.path] + arguments)
    }

    private func serving(
        _ answer: @escaping @Sendable (String, Int) -> ScriptedCollector.Answer,
        _ body: (ScriptedCollector) async throws -> Void
    ) async throws {
        let server = try ScriptedCollector(answer)
        defer {
            server.stop()
            try? FileManager.default.removeItem(at: folder)
        }
        try await body(server)
    }

    private func manifest() throws -> FetchManifest {
        try JSONDecoder().decode(
            FetchManifest.self, from: Data(contentsOf: folder.appendingPathComponent("manifest.json")))
    }

    private var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    /// The chunk files one after the other, each checked against the manifest.
    private func text() throws -> Data {
        var all = Data()
        for chunk in try manifest().chunks {
            let data = try Data(contentsOf: folder.appendingPathComponent(chunk.name))
            #expect(data.count == chunk.bytes && chunk.rawBytes <= LogLimits.chunkBytes)
            #expect(Data(SHA256.hash(data: data)).hexadecimal == chunk.sha256)
            all += data
        }
        return all
    }

    @Test func `Chunks of the collector are cut at line ends into files`() async throws {
        let script = RemoteScript(chunks: 3, bytes: 3_000_000)
        try await serving({ head, _ in script.answer(head) }) { server in
            let fetch = try await fetch(server, "--json")
            #expect(fetch.status == 0, "\(fetch.errors)")
            let manifest = try manifest()
            #expect(try JSONDecoder().decode(FetchManifest.self, from: fetch.output) == manifest)
            #expect(manifest.chunks.map(\.order) == [1, 2] && manifest.missing.isEmpty)
            #expect(
                manifest.chunks.allSatisfy {
                    $0.name.hasPrefix("kiosk-\(RemoteScript.device)-application-2026") && $0.type == .application
                }
            )
            #expect(manifest.chunks[1].firstLine == manifest.chunks[0].lastLine + 1)
            #expect(try text() == script.text)
            #expect(try files == (manifest.chunks.map(\.name) + ["manifest.json"]).sorted())
            #expect(
                server.requests.allSatisfy {
                    $0.hasPrefix("GET /api/v1/logs") && $0.contains("device=\(RemoteScript.device)")
                })
            #expect(!fetch.errors.contains("s3cret"))
            // Again, into the same place.
            #expect(try await self.fetch(server).status == 1)
            #expect(try await self.fetch(server, "--force").status == 0)
        }
    }

    @Test func `Without a device, the logs of an application are fetched and shown`() async throws {
        let script = RemoteScript(chunks: 2, bytes: 1000)
        try await serving({ head, _ in script.answer(head) }) { server in
            func run(_ arguments: String...) async throws -> ProgramRun {
                try await ProgramRun.ws1log(
                    arguments + ["--collector", server.url], environment: ["WS1_TOKEN": "s3cret-token"])
            }
            let fetch = try await run("fetch", "--chunks", "--output", folder.path, "--application", "kiosk")
            #expect(fetch.status == 0, "\(fetch.errors)")
            let manifest = try manifest()
            #expect(
                manifest.chunks.map(\.application) == ["kiosk"]
                    && manifest.chunks.map(\.device) == [RemoteScript.device])
            #expect(try text() == script.text)
            #expect(server.requests[0].contains("application=kiosk") && !server.requests[0].contains("device="))
            let list = try await run("list", "--ids", "1,2")
            #expect(list.status == 0 && list.text.contains(RemoteScript.device), "\(list.errors)")
            #expect(server.requests.last?.contains("ids=1,2") == true)
            _ = try await run("show", "--application", "a b", "--json")
            #expect(
                server.requests.contains { $0.contains("application=a%20b") && $0.contains("label=device") },
                "\(server.requests)")
            let wrong = try await run("list", "--ids", "1,x")
            #expect(wrong.status == 64 && wrong.errors.contains("--ids"))
        }
    }

    @Test func `A directory with other files is not filled unless forced`() async throws {
        let script = RemoteScript(chunks: 1, bytes: 1000)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Data("x".utf8).write(to: folder.appendingPathComponent("holiday.jpg"))
        try await serving({ head, _ in script.answer(head) }) { server in
            let refused = try await fetch(server)
            #expect(
                refused.status == 1 && refused.errors.contains("holiday.jpg") && refused.errors.contains("--output"),
                "\(refused.errors)")
            #expect(try files == ["holiday.jpg"])
            let forced = try await fetch(server, "--force")
            #expect(forced.status == 0, "\(forced.errors)")
            #expect(forced.text.hasSuffix("in \(AbsolutePath.of(folder.path))\n"), "\(forced.text)")
        }
    }

    @Test func `An interrupted fetch goes on, and no byte is missing or doubled`() async throws {
        let script = RemoteScript(chunks: 3, bytes: 3_000_000)
        // The list, two chunks, and the third breaks off.
        try await serving({ head, count in
            var answer = script.answer(head)
            if count == 3 { answer.sentBytes = answer.body.count / 2 }
            return answer
        }) { server in
            let broken = try await fetch(server, "--gzip")
            #expect(broken.status == 75, "\(broken.errors)")
            #expect(try files == ["chunk-1.partial", "chunk-2.partial", "manifest.json.partial"])
            let other = try await fetch(server, "--gzip", "--level", "error")
            #expect(other.status == 1 && other.errors.contains("something else"))

            let before = server.requests.count
            let whole = try await fetch(server, "--gzip")
            #expect(whole.status == 0, "\(whole.errors)")
            #expect(whole.text.contains("1 of them there already"))
            // From where the first file ends, in the second chunk of the collector.
            let asked = server.requests.dropFirst(before).filter { $0.contains("/content") }
            #expect(asked.count == 2 && asked.first?.contains("ids=2&") == true)
            let zcat = try await ProgramRun.of(
                try manifest().chunks.map { folder.appendingPathComponent($0.name).path },
                program: URL(fileURLWithPath: "/bin/zcat"))
            #expect(zcat.output == script.text)
            #expect(try files.count == 3)
        }
    }

    @Test func `A file that was damaged meanwhile is fetched again`() async throws {
        let script = RemoteScript(chunks: 3, bytes: 3_000_000)
        try await serving({ head, count in
            var answer = script.answer(head)
            if count == 3 { answer.sentBytes = 1000 }
            return answer
        }) { server in
            #expect(try await fetch(server).status == 75)
            try Data("damaged".utf8).write(to: folder.appendingPathComponent("chunk-1.partial"))
            #expect(try await fetch(server).status == 0)
            #expect(try text() == script.text)
        }
    }

    @Test func `Text of another digest is left out and reported`() async throws {
        let script = RemoteScript(chunks: 3, bytes: 100_000)
        let wrong = String(repeating: "0", count: 64)
        try await serving({ head, _ in
            head.contains("/content") ? script.answer(head) : .json(script.list(digest: (2, wrong)))
        }) { server in
            let run = try await fetch(server)
            #expect(run.status == 1)
            #expect(run.errors.contains("chunk 2"))
            #expect(try text() == script.texts[0] + script.texts[2])
            let missing = try manifest().missing
            #expect(missing.map(\.firstLine) == [2_000_001])
            let verify = try await self.run(server, ["verify"])
            #expect(verify.status == 1)
            #expect(verify.text.contains("damaged  chunk 2"))
        }
    }

    @Test func `A whole log is found whole`() async throws {
        let script = RemoteScript(chunks: 2, bytes: 10_000)
        try await serving({ head, _ in script.answer(head) }) { server in
            let verify = try await run(server, ["verify", "--json"])
            #expect(verify.status == 0)
            let result = try JSONDecoder().decode(VerifyCommand.Result.self, from: verify.output)
            #expect(
                result.isWhole && result.segments == 2 && result.bytes == script.text.count && result.findings.isEmpty)
        }
    }

    @Test func `An answer that breaks off ends with 75`() async throws {
        let script = RemoteScript(chunks: 1, bytes: 500_000)
        try await serving({ head, _ in
            var answer = script.answer(head)
            answer.sentBytes = answer.body.count / 2
            return answer
        }) { server in
            for arguments in [["show"], ["fetch"], ["list"]] {
                let run = try await run(server, arguments)
                #expect(run.status == 75, "\(arguments): \(run.errors)")
                #expect(run.errors.contains(server.url))
            }
        }
    }

    @Test func `Content that was changed on the way is not accepted`() async throws {
        let script = RemoteScript(chunks: 1, bytes: 50_000)
        try await serving({ head, _ in
            var answer = script.answer(head)
            if head.contains("/content") { answer.body[answer.body.count - 5] ^= 1 }
            return answer
        }) { server in
            let run = try await run(server, ["fetch", "--output", folder.path + ".log"])
            #expect(run.status == 75)
            #expect(run.errors.contains("damaged on the way"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + ".log"))
        }
    }

    @Test(arguments: [
        (200, ["Content-Type": "text/html"], 75, "no collector"),
        (302, ["Location": "http://portal.example/login"], 75, "portal.example"),
        (404, [:], 75, "no collector"), (503, ["Retry-After": "30"], 75, "30 s"), (502, [:], 75, "HTTP 502"),
    ])
    func `What is not a collector is reported`(
        _ status: Int, _ headers: [String: String], _ code: Int32, _ words: String
    )
        async throws
    {
        let answer = ScriptedCollector.Answer(status: status, headers: headers, body: Data("<html>Sign in</html>".utf8))
        try await serving({ _, _ in answer }) { server in
            for arguments in [["list"], ["show"]] {
                let run = try await run(server, arguments)
                #expect(run.status == code && run.errors.contains(words), "\(run.errors)")
                #expect(run.output.isEmpty && server.requests.allSatisfy { $0.hasPrefix("GET /api/v1/logs") })
            }
        }
    }

    @Test(
        arguments: [
            (507, "disk-full", [:], 75, "HTTP 507 disk-full"),
            (503, "shutting-down", ["Retry-After": "70"], 75, "70 s"),
            (429, "busy", ["Retry-After": "300"], 75, "300 s"), (401, "credential-unknown", [:], 1, "--token-file"),
            (403, "forbidden", [:], 1, "administrator"), (404, "not-found", [:], 1, "HTTP 404 not-found: why it is"),
        ] as [(Int, String, [String: String], Int32, String)])
    func `Problems are reported with their code`(
        _ status: Int, _ code: String, _ headers: [String: String], _ exit: Int32, _ words: String
    )
        async throws
    {
        try await serving({ _, _ in .problem(status, code, detail: "why it is", headers: headers) }) { server in
            for arguments in [["list"], ["show"], ["delete", "--yes"], ["request"]] {
                let run = try await run(server, arguments)
                #expect(run.status == exit && run.errors.contains(words) && run.errors.contains(code), "\(run.errors)")
                #expect(!run.errors.contains("s3cret"))
            }
        }
    }

    /// The list, and each section once, are refused first.
    @Test func `What a busy collector refuses is asked again`() async throws {
        let script = RemoteScript(chunks: 2, bytes: 20_000)
        try await serving({ head, count in
            count.isMultiple(of: 2)
                ? .problem(429, "busy", detail: "full", headers: ["Retry-After": "0"]) : script.answer(head)
        }) { server in
            let fetch = try await fetch(server)
            #expect(fetch.status == 0, "\(fetch.errors)")
            #expect(try text() == script.text)
        }
    }

    @Test func `A request is followed, and what it brought is fetched`() async throws {
        let script = RemoteScript(chunks: 2, bytes: 20_000)
        let id = "33333333-3333-4333-8333-333333333333"
        @Sendable func command(_ state: String) -> String {
            """
            {"id":"\(id)","device":"\(RemoteScript.device)","kind":"request-logs","arguments":{},"issuedAt":"a",\
            "issuedBy":"b","expiresAt":"c","state":"\(state)","progress":0.5,"uploads":[]}
            """
        }
        try await serving({ head, count in
            if head.hasPrefix("POST") { return .json(command("queued"), status: 201) }
            if !head.contains("/commands/"), head.contains("/devices/") {
                return .json(#"{"lastSeenAt":"2026-01-01T00:00:00Z"}"#)
            }
            if head.contains("/commands/") {
                return count == 2 ? .problem(503, "busy", detail: "d") : .json(command("done"))
            }
            var answer = script.answer(head, command: id)
            if count == 5 { answer.sentBytes = 10 }
            return answer
        }) { server in
            let broken = try await run(server, ["request", "--level", "warning", "--fetch", "--output", folder.path])
            #expect(broken.status == 75 && broken.errors.contains("--id \(id) --fetch"), "\(broken.errors)")
            #expect(broken.text == "\(id)\n")
            #expect(
                broken.errors.contains("the device was last seen") && broken.errors.contains("was expected by"),
                "\(broken.errors)")
            let run = try await run(server, ["request", "--id", id, "--fetch", "--output", folder.path])
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.text.hasPrefix("\(id) done\n1 chunk, "), "\(run.text)")
            #expect(server.requests.count { $0.hasPrefix("POST") } == 1)
            #expect(try text() == script.text)
        }
    }

    /// Without a device, an application or an organization is asked, as a job.
    @Test(arguments: [["--application", "com.example.till"], ["--organization", "west"]])
    func `Many devices are asked as a job after a confirmation`(whose: [String]) async throws {
        let job = "44444444-4444-4444-8444-444444444444"
        try await serving({ _, count in
            .json(count.isMultiple(of: 2) ? #"{"devices":3,"confirm":"c"}"# : #"{"devices":3,"id":"\#(job)"}"#)
        }) { server in
            func request(_ arguments: [String]) async throws -> ProgramRun {
                try await ProgramRun.ws1log(
                    ["request"] + whose + arguments + ["--collector", server.url], environment: ["WS1_TOKEN": "s3cret"])
            }
            let refused = try await request([])
            #expect(refused.status == 64 && refused.errors.contains("3 devices will be asked"), "\(refused.errors)")
            let asked = server.requests.count
            #expect(asked == 1)
            // The script answers by turns.
            _ = try await request([])
            let run = try await request(["--yes"])
            #expect(run.status == 0 && run.text == "job \(job)\n", "\(run.errors) \(run.text)")
            #expect(server.requests.allSatisfy { $0.hasPrefix("POST /api/v1/device-jobs") })
            #expect(
                server.requests.allSatisfy { $0.contains("?organization=west") == whose.contains("--organization") })
        }
    }

    @Test func `An idle device is expected by its beacon interval and within 15 minutes`() {
        let now = RemoteScript.time
        func text(_ secondsAgo: Int64?, beaconSeconds: Int64?) -> String {
            DeviceExpectation(lastSeen: secondsAgo.map { now - $0 * 1_000_000 }, beaconSeconds: beaconSeconds).text(
                now: now)
        }
        #expect(text(40, beaconSeconds: 300).contains("last seen 40 s ago and is expected by "))
        #expect(text(40, beaconSeconds: 300).hasSuffix(", in 4 min at most"))
        #expect(text(40, beaconSeconds: 86_400).hasSuffix(", in 14 min at most"))
        #expect(text(40, beaconSeconds: nil).hasSuffix(", in 14 min at most"))
        #expect(text(40, beaconSeconds: 1).hasSuffix(", in 20 s at most"))
        #expect(text(7300, beaconSeconds: 300).contains("last seen 2 h ago and was expected by"))
        #expect(text(nil, beaconSeconds: 300).contains("has not been seen"))
    }

    /// The interruption comes while the second look is answered, so that it meets the wait.
    @Test func `An interruption leaves the request and says how to go on`() async throws {
        let id = "33333333-3333-4333-8333-333333333333"
        let answer = ScriptedCollector.Answer.json(
            """
            {"id":"\(id)","device":"\(RemoteScript.device)","kind":"request-logs","arguments":{},"issuedAt":"a",\
            "issuedBy":"b","expiresAt":"c","state":"running","progress":0}
            """)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let note = folder.appendingPathComponent("pid").path
        try await serving({ _, count in
            let text = try? String(contentsOfFile: note, encoding: .utf8)
            if count == 1, let process = text.flatMap({ Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }) {
                kill(process, SIGINT)
            }
            return answer
        }) { server in
            let arguments = [
                "-c", "echo $$ >\(note); exec \"$@\"", "sh", ProgramRun.ws1logPath, "request", "--id", id, "--wait",
                "--collector",
                server.url,
                "--device", RemoteScript.device,
            ]
            let run = try await ProgramRun.of(
                arguments, environment: ["WS1_TOKEN": "t"], program: URL(fileURLWithPath: "/bin/sh"))
            #expect(run.status == 75, "\(run.errors)")
            #expect(run.errors.contains("request \(id) goes on") && run.errors.contains("--id \(id) --wait"))
            #expect(server.requests.allSatisfy { $0.hasPrefix("GET ") })
        }
    }

    @Test(
        arguments: [("failed", 1, "failed: no room"), ("expired", 1, "expired"), ("running", 75, "--id 33333333")]
            as [(String, Int32, String)])
    func `The end of a request is the exit code`(_ state: String, _ exit: Int32, _ words: String) async throws {
        let answer = ScriptedCollector.Answer.json(
            """
            {"id":"33333333-3333-4333-8333-333333333333","device":"\(RemoteScript.device)","kind":"request-logs",\
            "arguments":{},"issuedAt":"a","issuedBy":"b","expiresAt":"c","state":"\(state)",\
            "progress":0,"detail":"no room"}
            """)
        try await serving({ _, _ in answer }) { server in
            let run = try await run(
                server, ["request", "--id", "33333333-3333-4333-8333-333333333333", "--wait", "--wait-limit", "1s"])
            #expect(run.status == exit && run.errors.contains(words), "\(run.errors)")
        }
    }

    @Test(arguments: [
        ["tail", "--collector", "http://h", "--device", RemoteScript.device],
        ["show", "--data", "/tmp", "--collector", "http://h"],
        ["show", "--collector", "http://h", "--device", "x"],
        ["show", "--collector", "ftp://h", "--device", RemoteScript.device],
        ["show", "--ring", "--collector", "http://h", "--device", RemoteScript.device],
        ["list", "--collector", "http://h"],
        ["request", "--mode", "capture"], ["request", "--capture-seconds", "5"], ["request", "--id", "x"],
        ["request", "--output", "d"],
    ])
    func `Wrong usage ends with 64`(_ arguments: [String]) async throws {
        #expect(try await ProgramRun.ws1log(arguments, environment: ["WS1_TOKEN": "t"]).status == 64)
    }
}

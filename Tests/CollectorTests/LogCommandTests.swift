import CollectorAPI
import Foundation
import Gzip
import HummingbirdTesting
import Registry
import TelemetryBasics
import TestKit
import Testing
import WireModel

/// The built `ws1log` against a real collector over a real socket.
@Suite("ws1log at a collector", .timeLimit(.minutes(10)))
struct LogCommandTests {
    private static let second: Int64 = 1_000_000

    /// A device's logs: two overlapping uploads of one program, and a crash.
    private struct Scene: Sendable {
        let scene: UploadScene
        /// Where the collector listens.
        let port: Int
        let folder: URL
        /// Without what was sent twice.
        let application: Data
        let crash: Data

        func ws1log(_ arguments: [String]) async throws -> ProgramRun {
            try await ProgramRun.ws1log(
                arguments + ["--collector", "http://127.0.0.1:\(port)", "--device", "\(scene.device.deviceID)"],
                environment: ["WS1_TOKEN": scene.person])
        }

        func ws1log(_ arguments: String...) async throws -> ProgramRun { try await ws1log(arguments) }
    }

    private static func play(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        try await UploadScene.play { upload in
            let epoch = LogEpochID.random()
            func book(_ segments: [(UInt64, ClosedRange<UInt64>)]) throws -> LogBook {
                var book = LogBook(epoch: epoch, application: "com.example.kiosk")
                for (segment, positions) in segments {
                    try book.add(
                        segment: segment, positions: positions, from: Harness.now + Int64(segment) * 1000 * second)
                }
                return book
            }
            try await upload.upload(try book([(1, 1...60), (2, 1...40)]))
            try await upload.upload(try book([(1, 41...80)]))
            try await upload.upload(try book([(4, 1...30)]))
            try await upload.upload(try book([(3, 1...5)]), type: .crash)
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "ws1log-live-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let application = try book([(1, 1...80), (2, 1...40), (4, 1...30)]).chunks.reduce(Data()) { $0 + $1.text }
            let crash = try book([(3, 1...5)]).chunks[0].text
            try await upload.harness.live { client in
                try await body(
                    Scene(scene: upload, port: client.port, folder: folder, application: application, crash: crash))
            }
        }
    }

    private static func lines(_ text: Data, _ isWanted: (String) -> Bool = { _ in true }) -> [String] {
        String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init).filter(isWanted)
    }

    @Test func `Every line is fetched once, byte for byte`() async throws {
        try await Self.play { scene in
            let run = try await scene.ws1log("fetch", "--chunks", "--json", "--output", scene.folder.path)
            #expect(run.status == 0, "\(run.errors)")
            let manifest = try #require(try JSONSerialization.jsonObject(with: run.output) as? [String: Any])
            let chunks = try #require(manifest["chunks"] as? [[String: Any]])
            #expect(chunks.map { $0["type"] as? String } == ["application", "crash"])
            let files = try chunks.map {
                try Data(contentsOf: scene.folder.appendingPathComponent($0["name"] as? String ?? ""))
            }
            #expect(files == [scene.application, scene.crash])
            #expect(
                (chunks.first?["name"] as? String)?.hasPrefix(
                    "com.example.kiosk-\(scene.scene.device.deviceID)-application-") == true)

            let whole = try await scene.ws1log("fetch", "--type", "crash")
            #expect(whole.output == scene.crash)
            let file = scene.folder.appendingPathComponent("all.log.gz").path
            #expect(try await scene.ws1log("fetch", "--type", "application", "--gzip", "--output", file).status == 0)
            #expect(try GzipCodec.decompress(Data(contentsOf: URL(fileURLWithPath: file))) == scene.application)
        }
    }

    @Test func `The filter is that of a local store`() async throws {
        try await Self.play { scene in
            let since = Timestamp.text(Harness.now + 2000 * Self.second)
            let filter = [
                "--level", "error", "--since", since, "--type", "application", "--category", "app*", "--text", "LINE",
            ]
            let expected = Self.lines(scene.application) {
                $0.dropFirst(28).first == "E" && String($0.prefix(27)) >= since
            }
            #expect(!expected.isEmpty)
            let shown = try await scene.ws1log(["show"] + filter)
            #expect(Self.lines(shown.output) == expected, "\(shown.errors)")
            let fetched = try await scene.ws1log(["fetch", "--chunks", "--output", scene.folder.path] + filter)
            #expect(fetched.status == 0, "\(fetched.errors)")
            let name = try #require(
                try FileManager.default.contentsOfDirectory(atPath: scene.folder.path).first { $0.hasSuffix(".log") })
            #expect(Self.lines(try Data(contentsOf: scene.folder.appendingPathComponent(name))) == expected)
            #expect(try await scene.ws1log("show", "--text", "no such words").output.isEmpty)
        }
    }

    @Test func `What is there is listed, counted and verified`() async throws {
        try await Self.play { scene in
            #expect(try await scene.ws1log("list").text.split(separator: "\n").count == 1 + 5)
            let list = try #require(
                try JSONSerialization.jsonObject(with: try await scene.ws1log("list", "--json").output)
                    as? [[String: Any]])
            #expect(list.count == 5 && list.allSatisfy { ($0["sha256"] as? String)?.count == 64 })
            let stats = try #require(
                try JSONSerialization.jsonObject(with: try await scene.ws1log("stats", "--json").output)
                    as? [String: Any])
            #expect(
                (stats["all"] as? [String: Int]) == [
                    "lines": 155, "bytes": scene.application.count + scene.crash.count,
                ])
            #expect(((stats["types"] as? [String: Any])?["crash"] as? [String: Int])?["lines"] == 5)
            let verify = try await scene.ws1log("verify")
            #expect(verify.status == 0, "\(verify.text)\(verify.errors)")

            let file = try #require(scene.scene.files.first)
            let path = URL(fileURLWithPath: scene.scene.harness.directory + "/chunks/" + file)
            // Other lines of the same form and length, well compressed: only the digest shows it.
            let text = String(decoding: try GzipCodec.decompress(Data(contentsOf: path)), as: UTF8.self)
            try GzipCodec.compress(Data(text.replacing("line", with: "lime").utf8)).write(to: path)
            #expect(try await scene.ws1log("verify").status == 1)
        }
    }

    @Test func `Deleting asks first and removes whole chunks`() async throws {
        try await Self.play { scene in
            let asked = try await scene.ws1log("delete", "--type", "crash")
            #expect(
                asked.status == 64 && asked.errors.contains("5 lines in 1 chunk of") && asked.errors.contains("--yes"))
            #expect(try await scene.ws1log("delete", "--type", "crash", "--yes").text == "5 lines deleted\n")
            // Of segment 1 a chunk and part of another lie before that; only what lies there whole goes.
            let until = Timestamp.text(Harness.now + 1070 * Self.second)
            #expect(try await scene.ws1log("delete", "--until", until, "--yes").text == "60 lines deleted\n")
            #expect(try await scene.ws1log("list").text.split(separator: "\n").count == 1 + 3)
            #expect(try await scene.ws1log("delete", "--yes", "--json").status == 0)
            #expect(try await scene.ws1log("fetch").output.isEmpty)
            #expect(try await scene.ws1log("delete", "--yes").text == "0 lines deleted\n")
        }
    }

    @Test func `The chunks that are named are deleted, and no others`() async throws {
        try await Self.play { scene in
            func chunks() async throws -> [JSONObject] {
                try await scene.scene.client.json("/api/v1/logs", bearer: scene.scene.person).objects("items")
            }
            let former = try await chunks()
            let crash = try #require(former.first { $0.text("type") == "crash" }?.text("id"))
            #expect(try await scene.ws1log("delete", "--ids", crash, "--yes").text == "5 lines deleted\n")
            let left = try await chunks().compactMap { $0.text("id") }
            #expect(left == former.compactMap { $0.text("id") }.filter { $0 != crash })
        }
    }

    @Test func `A request is issued, waited for and cancelled`() async throws {
        try await Self.play { scene in
            let run = try await scene.ws1log(
                "request", "--mode", "capture", "--capture-seconds", "60", "--level", "warning", "--type",
                "application",
                "--category", "app.*",
                "--text",
                "oops", "--maximum-bytes", "1000", "--ring", "--since", "2020-01-01", "--wait", "--wait-limit", "1s")
            #expect(run.status == 75, "\(run.errors)")
            let id = run.text.trimmingCharacters(in: .newlines)
            #expect(run.errors.contains("--id \(id) --wait"))
            let route = "/api/v1/devices/\(scene.scene.device.deviceID)/commands"
            let arguments = try #require(
                try await scene.scene.client.json("\(route)/\(id)", bearer: scene.scene.person).object("arguments"))
            #expect(
                arguments.text("mode") == "capture" && arguments.number("captureSeconds") == 60
                    && arguments.text("level") == "warning")
            #expect(
                arguments.text("text") == "oops" && arguments.number("maximumBytes") == 1000
                    && arguments.text("type") == "application")
            #expect(try await scene.ws1log("request", "--id", id).text == "\(id) queued\n")
            let cancelled = try await scene.ws1log("request", "--cancel", id, "--json")
            #expect(cancelled.status == 0)
            #expect(
                (try JSONSerialization.jsonObject(with: cancelled.output) as? [String: Any])?["kind"] as? String
                    == "cancel")
            let unknown = try await scene.ws1log("request", "--cancel", "33333333-3333-4333-8333-333333333333")
            #expect(unknown.status == 1 && unknown.errors.contains("arguments.command"), "\(unknown.errors)")
        }
    }

    @Test func `Missing rights and missing objects are reported`() async throws {
        try await Self.play { scene in
            let port = scene.port
            func run(_ arguments: [String], device: String, token: String) async throws -> ProgramRun {
                try await ProgramRun.ws1log(
                    arguments + ["--device", device],
                    environment: ["WS1_TOKEN": token, "WS1_COLLECTOR": "http://127.0.0.1:\(port)"])
            }
            let device = "\(scene.scene.device.deviceID)"
            let viewer = try await scene.scene.harness.person(.viewer)
            #expect(try await run(["list"], device: device, token: viewer).status == 0)
            let refused = try await run(["delete", "--yes"], device: device, token: viewer)
            #expect(refused.status == 1 && refused.errors.contains("administrator"))
            let unknown = try await run(["show"], device: device, token: "nobody")
            #expect(
                unknown.status == 1 && unknown.errors.contains("--token-file") && !unknown.errors.contains("nobody"))
            for arguments in [["list"], ["show"], ["fetch"], ["stats"], ["verify"]] {
                let run = try await run(arguments, device: "33333333-3333-4333-8333-333333333333", token: viewer)
                #expect(run.status == 1 && run.errors.contains("no such device"), "\(arguments): \(run.errors)")
            }
        }
    }
}

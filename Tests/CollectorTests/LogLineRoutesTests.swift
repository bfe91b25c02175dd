import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import TelemetryBasics
import Testing
import WireModel

@Suite("Log lines over HTTP")
struct LogLineRoutesTests {
    private static let second: Int64 = 1_000_000
    private static func time(_ seconds: Int64) -> String { Timestamp.text(Harness.now + seconds * second) }

    private static func page(_ scene: UploadScene, _ query: String = "") async throws -> JSONObject {
        try await scene.client.json("/api/v1/logs/lines?\(query)", bearer: scene.person)
    }

    private static func texts(_ page: JSONObject) -> [String] { page.objects("items").compactMap { $0.text("text") } }

    @Test func `A line is shown with where it is from`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook(application: "com.example.kiosk")
            try book.add(
                [LogBook.line(4_000_007, .warning, at: Harness.now, category: "app.net", "refused\tpeer=a"), "more\n"],
                first: 4_000_007, last: 4_000_007)
            try await scene.upload(book, type: .crash)
            let page = try await Self.page(scene)
            let line = try #require(page.objects("items").first)
            #expect(line.text("time") == Self.time(0) && line.text("level") == "warning")
            #expect(line.text("category") == "app.net" && line.text("text") == "refused")
            #expect(line.text("metadata") == "peer=a" && line.text("unformatted") == "more\n")
            #expect(line.text("device") == "\(scene.device.deviceID)" && line.text("deviceName") == "kiosk")
            #expect(line.text("application") == "com.example.kiosk")
            #expect(line.text("type") == "crash" && line.number("line") == 4_000_007)
            let chunk = try await scene.client.json("/api/v1/logs", bearer: scene.person).objects("items").first
            #expect(line.text("chunk") == chunk?.text("id") && line.text("chunk") != nil)
            #expect(page.fields.keys.contains("next") && page.text("next") == nil && page.text("through") == nil)
            #expect(page.number("scannedBytes") == book.chunks[0].text.count)
        }
    }

    @Test func `Every filter cuts lines as it does in the content`() async throws {
        try await UploadScene.play { scene in
            for segment in 1...3 as ClosedRange<UInt64> {
                var book = LogBook(application: segment == 3 ? "com.example.b" : "com.example.a")
                let lines = (1...4 as ClosedRange<UInt64>).map { position in
                    LogBook.line(
                        segment * 1_000_000 + position, LogLevel(rawValue: Int(position)) ?? .error,
                        at: Harness.now + Int64(segment * 100 + position) * Self.second,
                        category: position == 2 ? "app.disk" : "app.net", "Line \(segment).\(position)")
                }
                try book.add(lines, first: segment * 1_000_000 + 1, last: segment * 1_000_000 + 4)
                try await scene.upload(book, type: segment == 1 ? .crash : .application)
            }
            for query in [
                "", "application=com.example.a", "application=com.example.b", "type=crash", "type=all",
                "type=application",
                "level=error", "level=warning", "level=info", "level=debug", "category=app.disk",
                "category=app.d*,app.net", "text=LINE%202", "text=nowhere", "from=\(Self.time(202))",
                "to=\(Self.time(202))", "from=\(Self.time(103))&to=\(Self.time(301))", "ids=1,3", "ids=99",
                "device=\(scene.device.deviceID)&level=warning", "device=\(DeviceID.random())",
                "application=com.example.a&level=error&text=1.1",
            ] {
                let content = try await scene.client.send(
                    .get, "/api/v1/logs/content?\(query)", bearer: scene.person)
                let expected = String(buffer: content.body).split(separator: "\n").map {
                    $0.split(separator: " ").suffix(2).joined(separator: " ")
                }
                #expect(Self.texts(try await Self.page(scene, "order=oldest&\(query)")) == expected, "\(query)")
                #expect(Self.texts(try await Self.page(scene, query)) == expected.reversed(), "\(query)")
            }
        }
    }

    @Test func `Several devices are merged by time`() async throws {
        try await UploadScene.play { scene in
            let others = [try await scene.harness.device(), try await scene.harness.device()]
            for (offset, credential) in ([scene.device] + others).map(\.credential).enumerated() {
                var book = LogBook()
                try book.add(
                    (1...20).map {
                        LogBook.line(1_000_000 + $0, at: Harness.now + Int64($0) * 3 + Int64(offset), "of \(offset)")
                    }, first: 1_000_001, last: 1_000_020)
                try await scene.upload(book, as: credential)
            }
            let (first, second) = (scene.device.deviceID, others[0].deviceID)
            let two = "device=\(first)&device=\(second)&order=oldest"
            let merged = Self.texts(try await Self.page(scene, two))
            #expect(merged == (1...20).flatMap { _ in ["of 0", "of 1"] })
            #expect(Self.texts(try await Self.page(scene, "device=\(second)")) == (1...20).map { _ in "of 1" })
            // The same devices in the list, in the text and in what would be deleted.
            let list = try await scene.client.json(
                "/api/v1/logs?device=\(first)&device=\(second)", bearer: scene.person)
            #expect(list.objects("items").count == 2)
            let content = try await scene.client.send(
                .get, "/api/v1/logs/content?device=\(first)&device=\(second)", bearer: scene.person)
            #expect(String(buffer: content.body).split(separator: "\n").count == 40)
            let path = "/api/v1/logs?device=\(first)&device=\(second)"
            let asked = try await scene.client.send(.delete, path, bearer: scene.person).json
            #expect(asked.number("devices") == 2 && asked.number("lines") == 40)
            let word = try #require(asked.text("confirm"))
            #expect(
                try await scene.client.send(.delete, "\(path)&confirm=\(word)", bearer: scene.person).json.number(
                    "chunks")
                    == 2)
            #expect(Self.texts(try await Self.page(scene)) == (1...20).map { _ in "of 2" })
            let audit = try await scene.client.json(
                "/api/v1/audit?action=logs-delete", bearer: scene.harness.administrator)
            let detail = audit.objects("items").first?.object("detail")?.text("devices")
            #expect(detail == "\(first) \(second)")
        }
    }

    @Test func `Pages follow each other and say how far they have got`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            try book.add(segment: 1, positions: 1...25, from: Harness.now)
            try await scene.upload(book)
            for order in ["newest", "oldest"] {
                var (texts, cursor, sizes) = ([String](), "", [Int]())
                repeat {
                    let page = try await Self.page(scene, "order=\(order)&limit=10\(cursor)")
                    let found = Self.texts(page)
                    texts += found
                    sizes.append(found.count)
                    #expect(
                        page.text("through")
                            == (page.text("next") == nil ? nil : page.objects("items").last?.text("time")))
                    cursor = page.text("next").map { "&cursor=\($0)" } ?? ""
                } while !cursor.isEmpty
                let all = (1...25).map { "line 1.\($0)" }
                #expect(texts == (order == "oldest" ? all : all.reversed()) && sizes == [10, 10, 5], "\(order)")
            }
            let next = try #require(try await Self.page(scene, "limit=1").text("next"))
            let refused = try await scene.client.send(
                .get, "/api/v1/logs/lines?order=oldest&cursor=\(next)", bearer: scene.person)
            try refused.expect(400, "invalid-parameter")
        }
    }

    @Test(arguments: [
        "level=loud", "order=time", "limit=0", "limit=1001", "cursor=x", "cursor=bmV3ZXN0fHRpbWV8LTE", "after=x",
        "what=1",
        "device=x", "around=x", "around=x&level=error", "after=YXJyaXZhbHw5OTk5fDB8MA",
        "after=YXJyaXZhbHwxfDB8MA&order=oldest",
        "after=YXJyaXZhbHwxfDB8MA&cursor=x", "label=device",
    ])
    func `A request that cannot be is refused`(_ query: String) async throws {
        try await UploadScene.play { scene in
            let response = try await scene.client.send(.get, "/api/v1/logs/lines?\(query)", bearer: scene.person)
            try response.expect(400, "invalid-parameter")
        }
    }

    @Test func `A device may not be named twice, nor too many of them`() async throws {
        try await UploadScene.play { scene in
            let device = DeviceID.random()
            for devices in [[device, device], (0..<51).map { _ in DeviceID.random() }] {
                let query = devices.map { "device=\($0)" }.joined(separator: "&")
                let response = try await scene.client.send(.get, "/api/v1/logs/lines?\(query)", bearer: scene.person)
                try response.expect(400, "invalid-parameter")
            }
            let most = (0..<50).map { _ in "device=\(DeviceID.random())" }.joined(separator: "&")
            #expect(Self.texts(try await Self.page(scene, most)).isEmpty)
        }
    }

    @Test func `Lines that arrive are reported since the newest`() async throws {
        try await UploadScene.play { scene in
            let begun = try #require(try await Self.page(scene).text("newest"))
            let nothing = try await Self.page(scene, "after=\(begun)")
            #expect(Self.texts(nothing).isEmpty && nothing.text("newest") == begun && nothing.text("next") == nil)
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            let all = (1...20).map { "line 1.\($0)" }
            var (texts, after) = ([String](), begun)
            for count in [8, 8, 4] {
                let page = try await Self.page(scene, "after=\(after)&limit=8")
                #expect(page.objects("items").count == count)
                #expect(page.text("next") == (count == 8 ? page.text("newest") : nil))
                #expect(page.objects("items").allSatisfy { $0.text("deviceName") == "kiosk" })
                texts += Self.texts(page)
                after = try #require(page.text("newest"))
            }
            #expect(texts == all)
            #expect(Self.texts(try await Self.page(scene, "after=\(after)")).isEmpty)
            #expect(Self.texts(try await Self.page(scene, "after=\(begun)&level=error")) == ["line 1.10", "line 1.20"])
            // The first page said where to go on.
            let newest = try #require(try await Self.page(scene, "limit=1").text("newest"))
            #expect(newest == after)
            // A line that comes in another chunk has the same id.
            let former = try await Self.page(scene).objects("items").compactMap { $0.text("id") }
            try await scene.upload(book)
            let again = try await Self.page(scene, "after=\(after)").objects("items").compactMap { $0.text("id") }
            #expect(Set(again) == Set(former) && again.count == 20)
            #expect(try await Self.page(scene).objects("items").count == 20)
        }
    }

    @Test func `A line is shown with those around it`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            try book.add(segment: 1, positions: 1...200, from: Harness.now)
            try await scene.upload(book)
            let hit = try #require(try await Self.page(scene, "text=line%201.100").objects("items").first?.text("id"))
            let context = try await Self.page(scene, "around=\(hit)&lines=2")
            #expect(Self.texts(context) == (98...102).map { "line 1.\($0)" } && context.text("line") == hit)
            #expect(context.flag("hasEarlier") == true && context.flag("hasLater") == true)
            #expect(context.objects("items").contains { $0.text("id") == hit })
            #expect(context.objects("items").allSatisfy { $0.text("deviceName") == "kiosk" })
            #expect(try await Self.page(scene, "around=\(hit)").objects("items").count == 41)
            for lines in ["0", "201", "x"] {
                try await scene.client.send(
                    .get, "/api/v1/logs/lines?around=\(hit)&lines=\(lines)", bearer: scene.person
                ).expect(400, "invalid-parameter")
            }
            // Nobody else sees it, and nobody once it is deleted.
            try await scene.harness.metadata.createOrganization("west")
            let stranger = try await scene.harness.person(.administrator, "west")
            try await scene.client.send(.get, "/api/v1/logs/lines?around=\(hit)", bearer: stranger).expect(
                404, "not-found")
            let word = try #require(
                try await scene.client.send(.delete, "/api/v1/logs", bearer: scene.person).json.text("confirm"))
            _ = try await scene.client.send(.delete, "/api/v1/logs?confirm=\(word)", bearer: scene.person)
            try await scene.client.send(.get, "/api/v1/logs/lines?around=\(hit)", bearer: scene.person).expect(
                404, "not-found")
        }
    }

    @Test func `Another organization sees no line by whatever means`() async throws {
        try await UploadScene.play { scene in
            try await scene.harness.metadata.createOrganization("west")
            let stranger = try await scene.harness.person(.administrator, "west")
            let newest = try #require(
                try await scene.client.json("/api/v1/logs/lines", bearer: stranger).text("newest"))
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            let cursor = try #require(try await Self.page(scene, "limit=5").text("next"))
            for query in ["", "device=\(scene.device.deviceID)", "ids=1", "cursor=\(cursor)", "after=\(newest)"] {
                let page = try await scene.client.json("/api/v1/logs/lines?\(query)", bearer: stranger)
                #expect(page.objects("items").isEmpty && page.number("scannedBytes") == 0, "\(query)")
            }
            let everywhere = try await scene.client.json("/api/v1/logs/lines", bearer: scene.harness.administrator)
            #expect(everywhere.objects("items").count == 20)
        }
    }
}

import CollectorAPI
import Crypto
import Foundation
import Gzip
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import TelemetryBasics
import Testing
import WireModel

@Suite("Logs over HTTP")
struct LogRoutesTests {
    private static let second: Int64 = 1_000_000
    private static func time(_ seconds: Int64) -> String { Timestamp.text(Harness.now + seconds * second) }

    private static func content(_ scene: UploadScene, _ query: String = "", as person: String? = nil) async throws
        -> [String]
    {
        let response = try await scene.client.send(
            .get, "/api/v1/logs/content?\(query)", bearer: person ?? scene.person)
        #expect(response.status == .ok, "\(String(buffer: response.body))")
        return String(buffer: response.body).split(separator: "\n").map(String.init)
    }

    private static func list(_ scene: UploadScene, _ query: String = "") async throws -> [JSONObject] {
        try await scene.client.json("/api/v1/logs?\(query)", bearer: scene.person).objects("items")
    }

    @Test func `Deleting from all organizations must be said explicitly`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            func plan(_ query: String) async throws -> TestResponse {
                try await scene.client.send(.delete, "/api/v1/logs\(query)", bearer: scene.harness.administrator)
            }
            try await plan("?olderThanDays=1").expect(400, "invalid-parameter")
            #expect(try await plan("?organization=*").json.number("chunks") == 1)
            #expect(try await plan("?organization=default").json.number("chunks") == 1)
            try await scene.harness.metadata.createOrganization("empty")
            #expect(try await plan("?organization=empty").json.number("chunks") == 0)
            #expect(try await plan("?device=\(scene.device.deviceID)").json.number("chunks") == 1)
        }
    }

    @Test func `A chunk is listed with what it holds`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook(application: "com.example.kiosk")
            try book.add(segment: 4, positions: 1...20, from: Harness.now)
            let upload = try await scene.upload(book)
            let chunk = try #require(try await Self.list(scene).first)
            #expect(chunk.text("device") == "\(scene.device.deviceID)" && chunk.text("deviceName") == "kiosk")
            #expect(chunk.text("upload") == "\(upload)")
            #expect(chunk.text("application") == "com.example.kiosk" && chunk.text("type") == "application")
            #expect(chunk.number("firstLine") == 4_000_001 && chunk.number("lastLine") == 4_000_020)
            #expect(chunk.text("firstTime") == Self.time(1) && chunk.text("lastTime") == Self.time(20))
            #expect(chunk.object("levels")?.number("error") == 2 && chunk.object("levels")?.number("information") == 18)
            #expect(chunk.text("sha256") == Data(SHA256.hash(data: book.chunks[0].text)).hexadecimal)
            #expect(
                chunk.number("rawBytes") == book.chunks[0].text.count
                    && chunk.number("storedBytes") == book.chunks[0].gzip.count)
        }
    }

    @Test func `The list is cut by every filter and paged`() async throws {
        try await UploadScene.play { scene in
            for segment in 1...3 {
                var book = LogBook(application: segment == 3 ? "com.example.b" : "com.example.a")
                try book.add(
                    segment: UInt64(segment), positions: 1...(segment == 2 ? 5 : 20),
                    from: Harness.now + Int64(segment) * 100 * Self.second
                )
                try await scene.upload(book, type: segment == 1 ? .crash : .application)
            }
            let cases: [(String, [Int])] = [
                ("", [3, 2, 1]), ("application=com.example.a", [2, 1]), ("type=crash", [1]), ("type=all", [3, 2, 1]),
                ("level=error", [3, 1]),
                ("level=debug", [3, 2, 1]), ("from=\(Self.time(210))", [3]), ("to=\(Self.time(150))", [1]),
                ("from=\(Self.time(205))&to=\(Self.time(206))", [2]),
                ("device=\(scene.device.deviceID)&level=WARNING", [3, 1]),
                ("device=\(DeviceID.random())", []),
            ]
            for (query, expected) in cases {
                let found = try await Self.list(scene, query).compactMap { $0.number("firstLine") }.map {
                    $0 / 1_000_000
                }
                #expect(found == expected, "\(query)")
            }
            let first = try await scene.client.json("/api/v1/logs?limit=2", bearer: scene.person)
            let cursor = try #require(first.text("next"))
            let second = try await scene.client.json("/api/v1/logs?limit=2&cursor=\(cursor)", bearer: scene.person)
            #expect(
                first.objects("items").count == 2 && second.objects("items").count == 1 && second.text("next") == nil)
        }
    }

    @Test(arguments: [
        "level=loud", "type=other", "from=yesterday", "ids=1,x", "ids=0", "to=2020-01-01&from=2021-01-01", "what=1",
        "order=size",
        "device=x",
    ])
    func `A filter that cannot be is refused`(_ query: String) async throws {
        try await UploadScene.play { scene in
            let response = try await scene.client.send(.get, "/api/v1/logs/content?\(query)", bearer: scene.person)
            try response.expect(400, "invalid-parameter")
        }
    }

    @Test func `Lines that were sent in several chunks are returned once`() async throws {
        try await UploadScene.play { scene in
            let epoch = LogEpochID.random()
            for positions in [1...30, 20...60, 5...10, 1...60] as [ClosedRange<UInt64>] {
                var book = LogBook(epoch: epoch)
                try book.add(segment: 1, positions: positions, from: Harness.now)
                try await scene.upload(book)
            }
            for order in ["time", "number"] {
                let lines = try await Self.content(scene, "order=\(order)")
                #expect(
                    lines.map { $0.split(separator: " ").last.map(String.init) } == (1...60).map { "1.\($0)" },
                    "\(order)")
            }
            // Another life of the store has numbers of its own.
            var other = LogBook()
            try other.add(segment: 1, positions: 1...60, from: Harness.now)
            try await scene.upload(other)
            #expect(try await Self.content(scene).count == 120)
        }
    }

    @Test func `Devices and processes are merged by time or returned one after the other`() async throws {
        try await UploadScene.play { scene in
            let other = try await scene.harness.device()
            var book = LogBook()
            // Two processes of one device at the same time, in one chunk as a fetch puts them.
            let lines =
                (1...10).map { LogBook.line(1_000_000 + $0, at: Harness.now + Int64($0) * 4, "a") }
                + (1...10).map { LogBook.line(2_000_000 + $0, at: Harness.now + Int64($0) * 4 + 2, "b") }
            try book.add(lines, first: 1_000_001, last: 2_000_010, linesPerMember: 7)
            try await scene.upload(book)
            var theirs = LogBook()
            theirs.application = "com.example.till"
            try theirs.add(
                (1...10).map { LogBook.line(1_000_000 + $0, at: Harness.now + Int64($0) * 4 + 1, "c") },
                first: 1_000_001, last: 1_000_010)
            try await scene.upload(theirs, as: other.credential)
            let merged = try await Self.content(scene).map { $0.suffix(1) }.joined()
            #expect(merged == String(repeating: "acb", count: 10))
            let numbered = try await Self.content(scene, "order=number").map { $0.suffix(1) }.joined()
            let (first, second) = (
                String(repeating: "a", count: 10) + String(repeating: "b", count: 10), String(repeating: "c", count: 10)
            )
            #expect(numbered == first + second || numbered == second + first)
            #expect(try await Self.content(scene, "device=\(other.deviceID)").count == 10)
            let labelled = try await Self.content(scene, "label=device")
            let (whole, names) = (
                try await Self.content(scene), try labelled.map { try #require(DeviceID(String($0.prefix(36)))) }
            )
            #expect(labelled.map { String($0.dropFirst(37)) } == whole)
            #expect(zip(names, whole).allSatisfy { ($0 == other.deviceID) == $1.hasSuffix("c") })
            let sources = try await Self.content(scene, "label=source").map { $0.split(separator: " ", maxSplits: 2) }
            #expect(sources.map { String($0[0]) } == names.map(\.description))
            #expect(
                zip(sources, whole).allSatisfy { source, line in
                    source[1] == (line.hasSuffix("c") ? "com.example.till" : "-") && source[2] == line
                })
        }
    }

    @Test func `Every filter cuts lines as it does on the device`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            let lines = [
                LogBook.line(1_000_001, .error, at: Harness.now, category: "app.network", "Refused by peer"),
                LogBook.line(1_000_002, .warning, at: Harness.now + 1, category: "app.disk", "slow"),
                "  a line of no form, which goes with the one before it\n",
                LogBook.line(1_000_003, .information, at: Harness.now + 2, category: "app.network", "connected"),
                LogBook.line(1_000_004, .verbose, at: Harness.now + 3, category: "other", "refused?"),
            ]
            try book.add(lines, first: 1_000_001, last: 1_000_004)
            try await scene.upload(book)
            let cases: [(String, [Int])] = [
                ("", [0, 1, 2, 3, 4]), ("level=error", [0]), ("level=warning", [0, 1, 2]),
                ("level=info", [0, 1, 2, 3]),
                ("category=app.network", [0, 3]), ("category=app.*", [0, 1, 2, 3]),
                ("category=app.disk,other", [1, 2, 4]),
                ("text=REFUSED", [0, 4]),
                ("text=refused&level=error", [0]),
                ("from=\(Timestamp.text(Harness.now + 1))&to=\(Timestamp.text(Harness.now + 3))", [1, 2, 3]),
                ("text=nowhere", []),
            ]
            for (query, expected) in cases {
                let found = try await Self.content(scene, query)
                #expect(found == expected.map { String(lines[$0].dropLast()) }, "\(query)")
            }
            let id = try #require(try await Self.list(scene).first?.text("id"))
            #expect(try await Self.content(scene, "ids=\(id)").count == 5)
            #expect(try await Self.content(scene, "ids=\(id)9").isEmpty)
        }
    }

    @Test func `The answer is compressed for clients that accept it`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            try book.add(segment: 1, positions: 1...5000, from: Harness.now)
            try await scene.upload(book)
            let text = book.chunks[0].text
            try await scene.harness.live { [text] client in
                func content(_ query: String = "", taking codings: String? = nil) async throws -> (
                    coding: String?, body: Data
                ) {
                    let answer = try await client.send(
                        .get, "/api/v1/logs/content\(query)", bearer: scene.person,
                        headers: codings.map { [.acceptEncoding: $0] } ?? [:])
                    return (answer.headers[.contentEncoding], Data((answer.body ?? ByteBuffer()).readableBytesView))
                }
                let plain = try await content()
                #expect(plain.body == text && plain.coding == nil)
                let small = try await content(taking: "br, gzip;q=0.5")
                #expect(small.coding == "gzip")
                #expect(try GzipCodec.decompress(small.body) == text)
                #expect(try GzipCodec.decompress(try await content("?text=nowhere", taking: "gzip").body).isEmpty)
            }
        }
    }

    @Test func `Deleting asks first and removes what it said`() async throws {
        try await UploadScene.play { scene in
            func delete(_ query: String) async throws -> TestResponse {
                try await scene.client.send(.delete, "/api/v1/logs?\(query)", bearer: scene.person)
            }
            var books: [LogBook] = []
            var uploads: [UploadID] = []
            for segment in 1...2 {
                var book = LogBook(application: "com.example.\(segment)")
                try book.add(segment: UInt64(segment), positions: 1...20, from: Harness.now)
                uploads.append(try await scene.upload(book))
                books.append(book)
            }
            let asked = try await delete("application=com.example.1").json
            #expect(asked.flag("deleted") == false && asked.number("chunks") == 1 && asked.number("lines") == 20)
            let word = try #require(asked.text("confirm"))
            #expect(try await Self.list(scene).count == 2)
            try await delete("application=com.example.2&confirm=\(word)").expect(409, "confirmation-outdated")
            let done = try await delete("application=com.example.1&confirm=\(word)").json
            #expect(done.flag("deleted") == true && done.number("rawBytes") == books[0].chunks[0].text.count)
            #expect(try await Self.list(scene).compactMap { $0.text("application") } == ["com.example.2"])
            #expect(try await Self.content(scene).count == 20 && scene.files.count == 1)
            // The device sends it once more: it gets the answer, and nothing comes back.
            let again = try await scene.send(uploads[0], 1, books[0].chunks[0].gzip).message(WireUploadStatus.self)
            #expect(again.deleted == [1] && again.missing.isEmpty && again.storedChunks == 0)
            #expect(try await scene.complete(uploads[0]).message(WireUploadStatus.self).complete)
            #expect(try await Self.list(scene).count == 1 && scene.files.count == 1)
            try await delete("application=com.example.1&confirm=\(word)").expect(409, "confirmation-outdated")
            try await delete("text=x").expect(400, "invalid-parameter")
            let usage = try await scene.client.json("/api/v1/logs/usage", bearer: scene.person).objects("items")
            #expect(usage.compactMap { $0.number("chunks") } == [0, 1] && usage[0].number("rawBytes") == 0)
            #expect(
                usage[1].number("rawBytes") == books[1].chunks[0].text.count
                    && usage[1].number("quotaBytes") == 200_000_000)
        }
    }

    @Test func `Deleting by IDs removes just the chunks named`() async throws {
        try await UploadScene.play { scene in
            func delete(_ query: String) async throws -> TestResponse {
                try await scene.client.send(.delete, "/api/v1/logs?\(query)", bearer: scene.person)
            }
            for segment: UInt64 in 1...4 {
                var book = LogBook()
                try book.add(segment: segment, positions: 1...5, from: Harness.now)
                try await scene.upload(book)
            }
            let ids = try await Self.list(scene).compactMap { $0.text("id") }
            try #require(ids.count == 4)
            let (named, others) = ("ids=\(ids[0]),\(ids[2])", "ids=\(ids[1]),\(ids[3])")
            let asked = try await delete(named).json
            #expect(asked.flag("deleted") == false && asked.number("chunks") == 2 && asked.number("lines") == 10)
            let word = try #require(asked.text("confirm"))
            try await delete("\(others)&confirm=\(word)").expect(409, "confirmation-outdated")
            try await delete("confirm=\(word)").expect(409, "confirmation-outdated")
            #expect(try await Self.list(scene).count == 4)
            let done = try await delete("\(named)&confirm=\(word)").json
            #expect(done.flag("deleted") == true && done.number("chunks") == 2)
            #expect(try await Self.list(scene).compactMap { $0.text("id") } == [ids[1], ids[3]])
            // The newest is listed first, so those of segments 4 and 2 were named.
            let left = try await Self.content(scene).compactMap { $0.split(separator: " ").last }
            #expect(left.count == 10 && Set(left.compactMap(\.first)) == ["1", "3"])
            #expect(scene.files.count == 2)
            #expect(try await delete(named).json.number("chunks") == 0)
        }
    }

    @Test func `An administrator sets the quota of an application`() async throws {
        try await UploadScene.play { scene in
            let list = "/api/v1/log-quotas/default"
            let (administrator, viewer) = (scene.harness.administrator, try await scene.harness.person(.viewer))
            func put(
                _ body: String, _ app: String = "/com.example.1", as person: String? = nil
            ) async throws -> TestResponse {
                try await scene.client.put(list + app, bearer: person ?? administrator, json: body)
            }
            #expect(try await put(#"{"bytes": 300000000}"#).status == .ok)
            #expect(try await put(#"{"bytes": 400000000}"#, "").status == .ok)
            let quotas = try await scene.client.json(list, bearer: scene.person).objects("items")
            #expect(quotas.compactMap { $0.text("application") } == ["", "com.example.1"])
            #expect(quotas.compactMap { $0.number("bytes") } == [400_000_000, 300_000_000])
            for bad in [
                #"{"bytes": 1}"#, #"{}"#, #"{"bytes": 6000000, "application": "x"}"#, #"{"bytes": 20000000000}"#,
            ] {
                try await put(bad).expect(422, "invalid-field")
            }
            #expect(try await put(#"{"bytes": 300000000}"#, as: viewer).status == .forbidden)
            #expect(
                try await scene.client.put(
                    "/api/v1/log-quotas/nowhere/a", bearer: administrator, json: #"{"bytes": 6000000}"#
                ).status == .notFound)
            let removed = try await scene.client.send(.delete, list + "/com.example.1", bearer: administrator).json
            #expect(removed.objects("items").count == 1)
        }
    }

    @Test func `What is older than two weeks is purged on request`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            scene.harness.clock.advance(seconds: 10 * 86_400)
            try await scene.upload(book)
            scene.harness.clock.advance(seconds: 6 * 86_400)
            let path = "/api/v1/logs?olderThanDays=14"
            let asked = try await scene.client.send(.delete, path, bearer: scene.person).json
            #expect(asked.number("chunks") == 1)
            scene.harness.clock.advance(seconds: 60)
            let word = try #require(asked.text("confirm"))
            #expect(
                try await scene.client.send(.delete, "\(path)&confirm=\(word)", bearer: scene.person).json.flag(
                    "deleted") == true)
            #expect(try await Self.list(scene).count == 1)
        }
    }

    @Test func `Viewers read, operators delete, and other organizations see nothing`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            let id = try #require(try await Self.list(scene).first?.text("id"))
            let viewer = try await scene.harness.person(.viewer)
            #expect(try await Self.content(scene, as: viewer).count == 20)
            try await scene.client.send(.delete, "/api/v1/logs", bearer: viewer).expect(403, "forbidden")
            try await scene.harness.metadata.createOrganization("west")
            let stranger = try await scene.harness.person(.administrator, "west")
            for path in [
                "/api/v1/logs", "/api/v1/logs?ids=\(id)", "/api/v1/logs?device=\(scene.device.deviceID)",
                "/api/v1/logs/usage",
            ] {
                #expect(try await scene.client.json(path, bearer: stranger).objects("items").isEmpty, "\(path)")
            }
            #expect(try await Self.content(scene, "ids=\(id)", as: stranger).isEmpty)
            let asked = try await scene.client.send(.delete, "/api/v1/logs?ids=\(id)", bearer: stranger).json
            #expect(asked.number("chunks") == 0)
            try await scene.client.send(.get, "/api/v1/devices/\(scene.device.deviceID)/uploads", bearer: stranger)
                .expect(404, "not-found")
            // The administrator of all sees it.
            #expect(try await Self.content(scene, as: scene.harness.administrator).count == 20)
        }
    }

    @Test func `A request for logs shows what has come of it`() async throws {
        try await UploadScene.play { scene in
            let path = "/api/v1/devices/\(scene.device.deviceID)/commands"
            let body =
                #"""
                {"kind": "request-logs", "arguments": {"level": "debug", "categories": ["app.*"], "maximumBytes": \#
                1000000}}
                """#
            let issued = try await scene.client.send(
                .post, path, bearer: scene.person, headers: [.contentType: WireNames.json], body: Data(body.utf8))
            #expect(issued.status == .created)
            let id = try #require(try issued.json.text("id"))
            #expect(
                try issued.json.objects("uploads").isEmpty
                    && issued.json.object("arguments")?.text("level") == "verbose")
            let command = try #require(CommandID(id))
            var book = LogBook()
            for segment in 1...3 { try book.add(segment: UInt64(segment), positions: 1...20, from: Harness.now) }
            let upload = UploadID.random()
            _ = try await scene.begin(upload, book.manifest(upload, command: command.data))
            for number in 1...2 { _ = try await scene.send(upload, number, book.chunks[number - 1].gzip) }
            _ = try await scene.complete(upload, gone: [(3, .ageCap)])
            let shown = try await scene.client.json("\(path)/\(id)", bearer: scene.person).objects("uploads")
            #expect(shown.count == 1 && shown[0].text("upload") == "\(upload)" && shown[0].text("state") == "complete")
            #expect(
                shown[0].number("chunks") == 3 && shown[0].number("storedChunks") == 2
                    && shown[0].number("goneChunks") == 1)
            #expect(shown[0].number("missingChunks") == 0)
            #expect(shown[0].number("storedRawBytes") == book.chunks[0].text.count + book.chunks[1].text.count)
            let listed = try await scene.client.json(path, bearer: scene.person).objects("items")
            #expect(listed.first?.objects("uploads").count == 1)
            #expect(try await Self.list(scene).first?.text("command") == id)
            let uploads = try await scene.client.json(
                "/api/v1/devices/\(scene.device.deviceID)/uploads", bearer: scene.person)
            #expect(uploads.objects("items").first?.text("command") == id)
        }
    }

    @Test func `What test devices send is shown when asked for and has its own quota`() async throws {
        try await UploadScene.play { scene in
            var request = WireEnrollRequest()
            request.test = true
            let test = try await scene.harness.metadata.enroll(token: scene.harness.enrollmentToken, request: request)
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book, as: test.credential)
            #expect(try await Self.list(scene).isEmpty)
            #expect(try await Self.list(scene, "test=true").count == 1)
            let usage = try await scene.client.json("/api/v1/logs/usage", bearer: scene.person).objects("items")
            #expect(usage.count == 1 && usage[0].flag("test") == true)
        }
    }
}

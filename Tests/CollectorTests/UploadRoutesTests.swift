import CollectorAPI
import Foundation
import Gzip
import HTTPTypes
import HummingbirdTesting
import Registry
import TestKit
import Testing
import WireModel

@Suite("Uploads over HTTP")
struct UploadRoutesTests {
    private static func book(_ chunks: Int = 3) throws -> LogBook {
        var book = LogBook()
        for segment in 1...UInt64(chunks) { try book.add(segment: segment, positions: 1...300, from: Harness.now) }
        return book
    }

    @Test func `An upload goes chunk by chunk in any order until nothing is missing`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(), UploadID.random())
            let begun = try await scene.begin(upload, book.manifest(upload)).message(WireUploadStatus.self)
            #expect(
                begun.missing == [1, 2, 3] && begun.state == .open && !begun.complete && begun.uploadID == upload.data)
            #expect(begun.expires == Harness.now + 7 * 86_400_000_000 && begun.serverTime == Harness.now)
            _ = try await scene.send(upload, 3, book.chunks[2].gzip)
            let second = try await scene.send(upload, 1, book.chunks[0].gzip).message(WireUploadStatus.self)
            #expect(second.missing == [2] && second.storedChunks == 2)
            #expect(try await scene.complete(upload).message(WireUploadStatus.self).missing == [2])
            _ = try await scene.send(upload, 2, book.chunks[1].gzip)
            let done = try await scene.complete(upload).message(WireUploadStatus.self)
            #expect(done.complete && done.state == .complete && done.missing.isEmpty)
            #expect(done.storedRawBytes == UInt64(book.chunks.reduce(0) { $0 + $1.text.count }))
            #expect(try await scene.standing(upload).message(WireUploadStatus.self) == done)
            #expect(scene.files.count == 3)
            for (file, chunk) in zip(scene.files, book.chunks) {
                #expect(FileManager.default.contents(atPath: "\(scene.harness.directory)/chunks/\(file)") == chunk.gzip)
            }
        }
    }

    @Test func `Beginning and sending again changes nothing`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(1), UploadID.random())
            for _ in 0..<2 {
                #expect(try await scene.begin(upload, book.manifest(upload)).status == .ok)
                #expect(
                    try await scene.send(upload, 1, book.chunks[0].gzip).message(WireUploadStatus.self).storedChunks
                        == 1)
                #expect(try await scene.complete(upload).message(WireUploadStatus.self).complete)
            }
            // Of a chunk that is here the bytes are not looked at again.
            #expect(try await scene.send(upload, 1, Data("other".utf8)).status == .ok)
            #expect(scene.files.count == 1)
        }
    }

    @Test func `An empty log is an upload of no chunks`() async throws {
        try await UploadScene.play { scene in
            let upload = UploadID.random()
            let begun = try await scene.begin(upload, LogBook().manifest(upload)).message(WireUploadStatus.self)
            let done = try await scene.complete(upload).message(WireUploadStatus.self)
            #expect(begun.missing.isEmpty && done.complete)
        }
    }

    @Test func `Another manifest for the same upload is refused`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(2), UploadID.random())
            _ = try await scene.begin(upload, book.manifest(upload))
            var other = book.manifest(upload)
            other.chunks[1].rawBytes += 1
            try await scene.begin(upload, other).expect(409, Problem.Code.manifestDiffers.rawValue)
            #expect(try await scene.standing(upload).message(WireUploadStatus.self).missing == [1, 2])
        }
    }

    @Test(arguments: [
        "digest", "more text than the manifest says", "less text", "truncated", "no gzip", "a bit flipped",
        "garbage behind it", "empty",
    ])
    func `A chunk whose bytes are not those of the manifest is refused and may come again`(_ damage: String)
        async throws
    {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(1), UploadID.random())
            _ = try await scene.begin(upload, book.manifest(upload))
            let (text, good) = (book.chunks[0].text, book.chunks[0].gzip)
            var bad = good
            switch damage {
            case "digest": bad = try GzipCodec.compress(Data(text.reversed()))
            case "more text than the manifest says": bad = try GzipCodec.compress(text + Data("x\n".utf8))
            case "less text": bad = try GzipCodec.compress(text.dropLast())
            case "truncated": bad = good.dropLast(5)
            case "no gzip": bad = text
            case "a bit flipped": bad[good.count / 2] ^= 4
            case "garbage behind it": bad = good + Data("x".utf8)
            default: bad = Data()
            }
            let refused = try await scene.send(upload, 1, Data(bad))
            try refused.expect(422, Problem.Code.chunkDamaged.rawValue)
            #expect(try refused.problem.retryable)
            #expect(scene.files.isEmpty)
            #expect(try await scene.send(upload, 1, good).message(WireUploadStatus.self).storedChunks == 1)
        }
    }

    @Test func `A bomb is ended where the manifest says that the text ends`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(1), UploadID.random())
            _ = try await scene.begin(upload, book.manifest(upload))
            let bomb = try GzipCodec.compress(Data(count: 64 << 20))
            try await scene.send(upload, 1, bomb).expect(422, Problem.Code.chunkDamaged.rawValue)
            #expect(scene.files.isEmpty)
        }
    }

    @Test func `A log of equal text may be as small as gzip can make it`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook()
            let line = LogBook.line(1_000_001, at: Harness.now, String(repeating: "a", count: 65_000))
            try book.add([line], first: 1_000_001, last: 1_000_001)
            try await scene.upload(book)
            #expect(book.chunks[0].gzip.count * 200 < book.chunks[0].text.count)
        }
    }

    @Test func `A chunk of more than 5 MB is refused before it is read`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(1), UploadID.random())
            var manifest = book.manifest(upload)
            manifest.chunks[0].rawBytes = 6_000_000
            try await scene.begin(upload, manifest).expect(422, "manifest-invalid")
            _ = try await scene.begin(upload, book.manifest(upload))
            let head =
                """
                PUT \(WireNames.uploadsPath)/\(upload)/chunks/1 HTTP/1.1\r\nHost: collector\r\nContent-Type: \
                \(WireNames.gzip)\r\nAuthorization: Bearer \(scene.device.credential)\r\nContent-Length: 6000000\r\n\r\n
                """
            let answer = try await scene.harness.live { client in
                try await BlockingCall.run {
                    let connection = try RawConnection(port: client.port)
                    connection.send(head)
                    return connection.receiveToEnd()
                }
            }
            #expect(
                answer.text.hasPrefix("HTTP/1.1 413 ") && answer.text.contains(Problem.Code.bodyTooLarge.rawValue)
                    && answer.ended)
            #expect(try await scene.standing(upload).message(WireUploadStatus.self).missing == [1])
        }
    }

    @Test func `A full chunk that cannot be compressed is accepted`() async throws {
        try await UploadScene.play { scene in
            var (book, generator) = (LogBook(), SystemRandomNumberGenerator())
            var (lines, bytes, number): ([String], Int, UInt64) = ([], 0, 1_000_000)
            while true {
                number += 1
                let noise = Data((0..<60).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } })
                    .base64EncodedString()
                let line = LogBook.line(number, at: Harness.now, noise)
                guard bytes + line.utf8.count <= LogLimits.chunkBytes else { break }
                bytes += line.utf8.count
                lines.append(line)
            }
            try book.add(lines, first: 1_000_001, last: number - 1)
            try await scene.upload(book)
        }
    }

    @Test func `Wrong media types, numbers and IDs are refused`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(1), UploadID.random())
            try await scene.send(upload, 1, book.chunks[0].gzip).expect(404, Problem.Code.uploadUnknown.rawValue)
            try await scene.standing(upload).expect(404, Problem.Code.uploadUnknown.rawValue)
            try await scene.complete(upload).expect(404, Problem.Code.uploadUnknown.rawValue)
            _ = try await scene.begin(upload, book.manifest(upload))
            for number in [0, 2, 1001, -1] {
                try await scene.send(upload, number, book.chunks[0].gzip).expect(404, "chunk-unknown")
            }
            try await scene.complete(upload, gone: [(7, .byteCap)]).expect(404, "chunk-unknown")
            let path = "\(WireNames.uploadsPath)/\(upload)/chunks/1"
            let credential = scene.device.credential
            let plain = try await scene.client.send(
                .put, path, bearer: credential, headers: [.contentType: WireNames.protobuf], body: book.chunks[0].gzip)
            try plain.expect(415, "unsupported-media-type")
            let encoded = try await scene.client.send(
                .put, path, bearer: credential, headers: [.contentType: WireNames.gzip, .contentEncoding: "gzip"],
                body: book.chunks[0].gzip
            )
            try encoded.expect(415, "unsupported-content-encoding")
            try await scene.begin(UploadID.random(), book.manifest(upload)).expect(422, "manifest-invalid")
            let person = try await scene.send(upload, 1, book.chunks[0].gzip, as: scene.person)
            #expect(person.status == .unauthorized)
        }
    }

    @Test func `Another device's upload is not there, and the same ID is another upload`() async throws {
        try await UploadScene.play { scene in
            let other = try await scene.harness.device()
            let (book, upload) = (try Self.book(1), UploadID.random())
            _ = try await scene.begin(upload, book.manifest(upload))
            try await scene.send(upload, 1, book.chunks[0].gzip, as: other.credential).expect(
                404, Problem.Code.uploadUnknown.rawValue)
            try await scene.standing(upload, as: other.credential).expect(404, Problem.Code.uploadUnknown.rawValue)
            var theirs = LogBook()
            try theirs.add(segment: 9, positions: 1...5, from: Harness.now)
            #expect(try await scene.begin(upload, theirs.manifest(upload), as: other.credential).status == .ok)
            #expect(try await scene.send(upload, 1, theirs.chunks[0].gzip, as: other.credential).status == .ok)
            #expect(try await scene.standing(upload).message(WireUploadStatus.self).missing == [1])
            #expect(try await scene.send(upload, 1, book.chunks[0].gzip).status == .ok)
            #expect(scene.files.count == 2)
        }
    }

    @Test(arguments: [
        "../../../../tmp/evil", "..", ".", "a/b", "/etc/passwd", "%2e%2e%2f", ".hidden",
        String(repeating: "x/", count: 120),
    ])
    func `A name that looks like a path stays one name`(_ application: String) async throws {
        try await UploadScene.play { scene in
            var book = LogBook(application: application)
            try book.add(segment: 1, positions: 1...5, from: Harness.now)
            try await scene.upload(book)
            let file = try #require(scene.files.first)
            let parts = file.split(separator: "/")
            #expect(
                scene.files.count == 1 && parts.count == 4 && parts[0] == "default"
                    && parts[2] == "\(scene.device.deviceID)")
            #expect(!parts.contains { $0.hasPrefix(".") })
            var hidden = book.manifest(UploadID.random())
            hidden.chunks[0].fileName = "../" + hidden.chunks[0].fileName
            let upload = try #require(UploadID(hidden.uploadID))
            try await scene.begin(upload, hidden).expect(422, "manifest-invalid")
        }
    }

    @Test func `What the device lost is gone, and the upload is complete`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(), UploadID.random())
            _ = try await scene.begin(upload, book.manifest(upload))
            _ = try await scene.send(upload, 1, book.chunks[0].gzip)
            // What has come is not gone, whatever the device says later.
            let part = try await scene.complete(upload, gone: [(1, .ageCap), (2, .byteCap)]).message(
                WireUploadStatus.self)
            #expect(
                part.missing == [3] && part.gone.map(\.number) == [2] && part.gone[0].reason == .byteCap
                    && !part.complete)
            #expect(
                try await scene.send(upload, 2, book.chunks[1].gzip).message(WireUploadStatus.self).gone.map(\.number)
                    == [2])
            let done = try await scene.complete(upload, gone: [(3, .ageCap)]).message(WireUploadStatus.self)
            #expect(done.complete && done.storedChunks == 1 && done.gone.count == 2)
        }
    }

    @Test func `What is not completed in seven days has expired, and a notice says so`() async throws {
        try await UploadScene.play { scene in
            let (book, upload) = (try Self.book(2), UploadID.random())
            _ = try await scene.begin(upload, book.manifest(upload))
            _ = try await scene.send(upload, 1, book.chunks[0].gzip)
            // All of this one is here; only the word that it is complete is not.
            let whole = try await scene.upload(try Self.book(1))
            scene.harness.clock.advance(seconds: 7 * 86_400)
            let standing = try await scene.standing(upload).message(WireUploadStatus.self)
            #expect(standing.state == .expired && standing.missing == [2] && standing.storedChunks == 1)
            try await scene.send(upload, 2, book.chunks[1].gzip).expect(409, Problem.Code.uploadExpired.rawValue)
            try await scene.begin(upload, book.manifest(upload)).expect(409, Problem.Code.uploadExpired.rawValue)
            #expect(try await scene.send(upload, 1, book.chunks[0].gzip).status == .ok)
            #expect(try await scene.standing(whole).message(WireUploadStatus.self).complete)
            let notices = try await scene.client.json("/api/v1/notices", bearer: scene.person).objects("items")
            #expect(
                notices.count == 1 && notices[0].text("code") == "upload-expired" && notices[0].number("count") == 1)
            #expect(notices[0].text("subject") == "\(scene.device.deviceID)")
            #expect(notices[0].text("detail")?.contains("1 of 2 chunks") == true)
            for (subject, count) in [("\(scene.device.deviceID)", 1), ("\(DeviceID.random())", 0)] {
                let ofSubject = try await scene.client.json("/api/v1/notices?subject=\(subject)", bearer: scene.person)
                #expect(ofSubject.objects("items").count == count)
            }
        }
    }

    @Test func `Requested logs that have arrived are reported for a day`() async throws {
        try await UploadScene.play { scene in
            func notices() async throws -> [JSONObject] {
                try await scene.client.json("/api/v1/notices", bearer: scene.person).objects("items")
            }
            _ = try await scene.complete(try await scene.upload(try Self.book(1)))
            #expect(try await notices().isEmpty, "nobody waits for logs that a device sends by itself")

            let command = CommandID.random().data
            let asked = try await scene.upload(try Self.book(2), command: command)
            #expect(try await notices().isEmpty, "the device may have more to send")
            for _ in 0..<2 { _ = try await scene.complete(asked) }
            let reported = try await notices()
            #expect(
                reported.count == 1 && reported[0].text("code") == "logs-arrived" && reported[0].number("count") == 1)
            #expect(reported[0].text("subject") == "\(scene.device.deviceID)" && reported[0].text("endedAt") == nil)
            #expect(reported[0].text("detail")?.contains("newest upload: 2, with") == true)

            scene.harness.clock.advance(seconds: 86_400 + 3600)
            #expect(try await notices().first?.text("endedAt") != nil)
        }
    }

    @Test func `A device has a bounded number of open uploads`() async throws {
        try await UploadScene.play { scene in
            let book = try Self.book(1)
            for _ in 0..<100 {
                let upload = UploadID.random()
                #expect(try await scene.begin(upload, book.manifest(upload)).status == .ok)
            }
            let upload = UploadID.random()
            try await scene.begin(upload, book.manifest(upload)).expect(429, "too-many-uploads")
        }
    }

    @Test func `An administrator sets the quota of an application and returns it`() async throws {
        try await UploadScene.play { scene in
            let path = "/api/v1/log-quotas/default"
            func change(_ method: HTTPRequest.Method, _ bearer: String, _ json: String? = nil) async throws
                -> TestResponse
            {
                try await scene.client.send(
                    method, path + "/com.example.kiosk", bearer: bearer, headers: [.contentType: WireNames.json],
                    body: json.map { Data($0.utf8) })
            }
            func quotas() async throws -> [Int?] {
                try await scene.client.json(path, bearer: scene.person).objects("items").map { $0.number("bytes") }
            }
            let administrator = scene.harness.administrator
            let refused = try await change(.put, scene.person, #"{"bytes": 300000000}"#).status
            #expect(refused == .forbidden)
            let given = try await change(.put, administrator, #"{"bytes": 300000000}"#).status
            #expect(given == .ok)
            let kept = try await quotas()
            #expect(kept == [300_000_000])
            let removed = try await change(.delete, administrator).status
            #expect(removed == .ok)
            let left = try await quotas()
            #expect(left == [])
        }
    }

    @Test func `The quota refuses chunks and nothing else, and notices say how far it is used`() async throws {
        let book = try Self.book(4)
        let bytes = book.chunks[0].text.count
        try await UploadScene.play(quotaBytes: 3 * bytes + bytes / 2) { scene in
            func notices() async throws -> [String] {
                let items = try await scene.client.json("/api/v1/notices", bearer: scene.person).objects("items")
                return items.filter { $0.text("endedAt") == nil }.compactMap { $0.text("code") }.sorted()
            }
            let upload = UploadID.random()
            _ = try await scene.begin(upload, book.manifest(upload))
            for number in 1...2 {
                #expect(try await scene.send(upload, number, book.chunks[number - 1].gzip).status == .ok)
            }
            #expect(try await notices().isEmpty)
            #expect(try await scene.send(upload, 3, book.chunks[2].gzip).status == .ok)
            #expect(try await notices() == ["log-quota-75"])
            let refused = try await scene.send(upload, 4, book.chunks[3].gzip)
            try refused.expect(507, Problem.Code.logQuotaExceeded.rawValue)
            #expect(try refused.problem.retryable && refused.headers[.retryAfter] == "300")
            #expect(try await notices() == ["log-quota-100", "log-quota-75"])
            // Another application, a test device, a beacon: none of them is concerned.
            var other = LogBook(application: "com.example.other")
            try other.add(segment: 1, positions: 1...300, from: Harness.now)
            try await scene.upload(other)
            var chain = ChainBuilder(stream: .event)
            let batch = try await scene.client.post(
                WireNames.batchesPath, bearer: scene.device.credential, [chain.events(["x"])].request)
            #expect(batch.status == .ok)
            #expect(try await scene.standing(upload).message(WireUploadStatus.self).missing == [4])
        }
    }
}

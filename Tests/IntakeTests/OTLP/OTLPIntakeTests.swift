import Foundation
import Glibc
import Gzip
import ListeningSockets
import LogStore
import OTLP
import SwiftProtobuf
import Synchronization
import TestKit
import Testing
import WireModel

@testable import Intake

/// OTLP/HTTP over real sockets.
@Suite(.timeLimit(.minutes(5))) struct OTLPIntakeTests {
    @Test func `Log records are lines with level and metadata once they are answered with 200`() async throws {
        let scene = try OTLPScene()
        let reply = try await scene.exchange(body: OTLPScene.logs(["sold out", "open"]))
        #expect(reply.status == 200 && reply.body.isEmpty)
        #expect(reply.headers["content-type"] == "application/x-protobuf")
        let stored = try scene.stored
        #expect(stored.messages == ["sold out", "open"])
        #expect(stored.metadata[0].contains("resource.service.name=till severityNumber=13"))
        #expect(scene.committer.status.written[.warning] == 2)
        #expect(scene.committer.status.lag.dataPoints == 0)
    }

    @Test func `JSON and gzip are read, and answered in the encoding of the request`() async throws {
        let scene = try OTLPScene()
        let json = #"""
            {"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1795305088000000000",
            "traceId":"5b8efff798038103d269b633813fc60c","body":{"kvlistValue":{"values":[
            {"key":"a","value":{"intValue":"3"}},{"key":"b","value":{"stringValue":"\"x\""}}]}}}]}]}]}
            """#
        let body = try GzipCodec.compress(Data(json.utf8))
        let reply = try await scene.exchange(headers: [OTLPScene.json, "Content-Encoding: gzip"], body: Array(body))
        #expect(reply.status == 200 && reply.body == Array("{}".utf8))
        #expect(reply.headers["content-type"] == "application/json")
        let stored = try scene.stored
        // In the files of the log a backslash is written twice.
        #expect(stored.messages == [#"{"a":3,"b":"\\"x\\""}"#])
        #expect(stored.metadata[0].contains("traceID=5b8efff798038103d269b633813fc60c"))
    }

    @Test func `Data points become records with their context once they are answered with 200`() async throws {
        let scene = try OTLPScene()
        let reply = try await scene.exchange("/v1/metrics", body: OTLPScene.gauge([1, 2, 3]))
        #expect(reply.status == 200 && reply.body.isEmpty)
        let record = try #require(scene.sink.records.withLock { $0 }.first)
        #expect(record.points == 3 && record.service == "till")
        let context = try OTLPResourceMetrics(serializedBytes: record.context)
        #expect(context.resource.text("service.name") == "till" && context.scopeMetrics.map(\.scope.name) == ["shop"])
        let metrics = try OTLPScopeMetrics(serializedBytes: record.body)
        #expect(metrics.metrics.map(\.name) == ["shop.stock"] && !metrics.hasScope)
        #expect(metrics.metrics[0].gauge.dataPoints.map(\.asInt) == [1, 2, 3])
        _ = scene.committer.step()
        #expect(scene.committer.status.lag.dataPoints == 3)
    }

    @Test func `What the queue does not take is rejected for good, or put off, as the queue says`() async throws {
        let scene = try OTLPScene()
        scene.sink.outcome.withLock { $0 = .refused("telemetry is switched off") }
        let refused = try await scene.exchange("/v1/metrics", body: OTLPScene.gauge([1, 2]))
        #expect(refused.status == 200)
        let partial = try OTLPMetricsResponse(serializedBytes: refused.body).partialSuccess
        #expect(partial.rejectedDataPoints == 2 && partial.errorMessage.contains("may not record it now"))
        scene.sink.outcome.withLock { $0 = .unavailable("the disk is full") }
        let putOff = try await scene.exchange("/v1/metrics", body: OTLPScene.gauge([1]))
        #expect(putOff.status == 503 && putOff.headers["retry-after"] == "2")
        #expect(try putOff.message.contains("the disk is full"))
        _ = scene.committer.step()
        let problems = scene.committer.status.lag.problems.joined(separator: "\n")
        #expect(problems.contains("1 request were refused") && problems.contains("1 request were put off"))
    }

    @Test func `An item that breaks a rule is rejected, and the others are stored`() async throws {
        let scene = try OTLPScene()
        var request = try OTLPLogsRequest(serializedBytes: OTLPScene.logs(["good", "bad"]))
        request.resourceLogs[0].scopeLogs[0].logRecords[1].eventName = String(repeating: "x", count: 257)
        let reply = try await scene.exchange(body: request.serializedBytes())
        let partial = try OTLPLogsResponse(serializedBytes: reply.body).partialSuccess
        #expect(reply.status == 200 && partial.rejectedLogRecords == 1)
        #expect(try scene.stored.messages == ["good"])
    }

    @Test func `200 comes only once the lines are stored; until then the sender keeps them`() async throws {
        let scene = try OTLPScene(isShut: true)
        let connection = try scene.connected()
        defer { close(connection) }
        OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["later"])), to: connection)
        while scene.source.lag.bytes == 0 { await Task.yield() }
        var byte: UInt8 = 0
        #expect(scene.committer.step() == .retry(milliseconds: 100))
        #expect(recv(connection, &byte, 1, Int32(MSG_DONTWAIT)) == -1 && errno == EAGAIN)
        // The sender hears before it gives up by itself.
        scene.clock.advance(milliseconds: 6_000)
        let reply = try await scene.reply(on: connection)
        #expect(reply.status == 503 && reply.headers["retry-after"] == "2")
        #expect(scene.source.lag.bytes == 0)
        scene.gate.isShut = false
        OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["later"])), to: connection)
        #expect(try await scene.reply(on: connection).status == 200)
        #expect(try scene.stored.messages == ["later"])
    }

    @Test func `Pages in browsers do not get in`() async throws {
        let scene = try OTLPScene()
        let body = try OTLPScene.logs(["from a page"])
        let headers = [OTLPScene.protobuf, "Origin: https://example.org"]
        #expect(try await scene.exchange(headers: headers, body: body).status == 403)
        #expect(try await scene.exchange(body: body, host: "rebound.example:4318").status == 403)
        #expect(try await scene.exchange(body: body, host: nil).status == 400)
        let preflight = try await scene.exchange(
            headers: ["Origin: null", "Access-Control-Request-Method: POST"], body: [], method: "OPTIONS")
        #expect(preflight.status == 403)
        #expect(!preflight.headers.keys.contains { $0.hasPrefix("access-control") })
        #expect(scene.source.lag.bytes == 0)
        #expect(try await scene.exchange(body: body, host: "localhost:4318").status == 200)
        #expect(try scene.stored.messages == ["from a page"])
    }

    @Test func `A body over the limit is refused, however it is sent`() async throws {
        let scene = try OTLPScene { $0.bodyBytes = 64 << 10 }
        let large = try OTLPScene.logs([String(repeating: "x", count: 70 << 10)])
        let refused = try await scene.exchange(body: large)
        #expect(refused.status == 413)
        #expect(try refused.message.contains("65536 bytes"))
        let bomb = try GzipCodec.compress(Data(large))
        let headers = [OTLPScene.protobuf, "Content-Encoding: gzip"]
        #expect(try await scene.exchange(headers: headers, body: Array(bomb)).status == 413)
        // In chunks, without an announced length.
        let connection = try scene.connected()
        defer { close(connection) }
        let head =
            "POST /v1/logs HTTP/1.1\r\nHost: localhost\r\n\(OTLPScene.protobuf)\r\nTransfer-Encoding: chunked\r\n"
            + "\r\n"
        let chunk = Array("8000\r\n".utf8) + [UInt8](repeating: 0x20, count: 0x8000) + Array("\r\n".utf8)
        OTLPScene.send(Array(head.utf8) + chunk + chunk + chunk + Array("0\r\n\r\n".utf8), to: connection)
        #expect(try await scene.reply(on: connection).status == 413)
        // The connection is good for the next one.
        OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["small"])), to: connection)
        #expect(try await scene.reply(on: connection).status == 200)
    }

    @Test func `Chunks, pipelined requests and a sender that asks first are served`() async throws {
        let scene = try OTLPScene()
        let connection = try scene.connected()
        defer { close(connection) }
        let body = try OTLPScene.logs(["asked"])
        let head =
            "POST /v1/logs HTTP/1.1\r\nHost: localhost\r\n\(OTLPScene.protobuf)\r\nExpect: 100-continue\r\n"
            + "Content-Length: \(body.count)\r\n\r\n"
        OTLPScene.send(Array(head.utf8), to: connection)
        #expect(try await scene.reply(on: connection).status == 100)
        OTLPScene.send(body, to: connection)
        #expect(try await scene.reply(on: connection).status == 200)
        let two = OTLPScene.request(body: try OTLPScene.logs(["one"])) + OTLPScene.request("/v1/traces", body: [])
        OTLPScene.send(two, to: connection)
        #expect(try await scene.reply(on: connection).status == 200)
        #expect(try scene.stored.messages == ["asked", "one"])
        let asked = try scene.connected()
        defer { close(asked) }
        OTLPScene.send(
            Array(
                "POST /v1/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nExpect: 100-continue\r\n"
                    .utf8) + Array("Content-Length: 5\r\n\r\n".utf8), to: asked)
        let refused = try await scene.reply(on: asked)
        #expect(refused.status == 415 && refused.headers["connection"] == "close")
    }

    @Test func `Memory is bounded, and who finds none is told to come again`() async throws {
        let scene = try OTLPScene { $0.bodyBytes = 4 << 20 }
        // Four bodies of the largest size fit; the fifth finds no room.
        var held: [Int32] = []
        defer { for connection in held { close(connection) } }
        let half = [UInt8](repeating: 0, count: (4 << 20) - 1)
        for number in 1...4 {
            let connection = try scene.connected()
            held.append(connection)
            let head = OTLPScene.request(body: [])
            let text = String(decoding: head, as: UTF8.self).replacingOccurrences(
                of: "Content-Length: 0", with: "Content-Length: \(4 << 20)")
            OTLPScene.send(Array(text.utf8) + half, to: connection)
            while scene.source.bodyBytes < number * half.count { await Task.yield() }
        }
        let small = try OTLPScene.logs([String(repeating: "x", count: 1_000)])
        let reply = try await scene.exchange(body: small)
        #expect(reply.status == 503 && reply.headers["retry-after"] == "2")
        close(held.removeLast())
        while scene.source.bodyBytes > 3 * half.count { await Task.yield() }
        #expect(try await scene.exchange(body: small).status == 200)
    }

    @Test func `A day's bytes are bounded, and 429 says when the next day begins`() async throws {
        let body = try OTLPScene.logs(["x"])
        let scene = try OTLPScene { $0.bytesPerDay = body.count + 10 }
        #expect(try await scene.exchange(body: body).status == 200)
        let reply = try await scene.exchange(body: body)
        #expect(reply.status == 429)
        let seconds = try #require(reply.headers["retry-after"].flatMap { Int64($0) })
        scene.clock.advance(milliseconds: (seconds - 2) * 1000)
        #expect(try await scene.exchange(body: body).status == 429)
        scene.clock.advance(milliseconds: 3_000)
        #expect(try await scene.exchange(body: body).status == 200)
        #expect(try scene.stored.messages == ["x", "x"])
    }

    @Test func `A body that does not come ends its connection, and holds nobody up`() async throws {
        let scene = try OTLPScene { $0.limits.bodyMilliseconds = 300 }
        let slow = try scene.connected()
        defer { close(slow) }
        let text = String(decoding: OTLPScene.request(body: []), as: UTF8.self).replacingOccurrences(
            of: "Content-Length: 0", with: "Content-Length: 10")
        OTLPScene.send(Array((text + "12345").utf8), to: slow)
        #expect(try await scene.exchange(body: OTLPScene.logs(["quick"])).status == 200)
        let reply = try await scene.reply(on: slow)
        #expect(reply.status == 503 && reply.headers["connection"] == "close")
        await #expect(throws: OTLPScene.Closed.self) { try await scene.reply(on: slow) }
        #expect(scene.source.bodyBytes == 0)
    }

    @Test func `One more connection takes the place of a quiet one, and otherwise of none`() async throws {
        let scene = try OTLPScene { $0.limits.connections = 2 }
        var open = [try scene.connected(), try scene.connected()]
        defer { for connection in open { close(connection) } }
        for connection in open {
            OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["x"])), to: connection)
            #expect(try await scene.reply(on: connection).status == 200)
        }
        open.append(try scene.connected())
        await #expect(throws: OTLPScene.Closed.self) { try await scene.reply(on: open[2]) }
        scene.clock.advance(milliseconds: 10_000)
        OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["y"])), to: open[1])
        #expect(try await scene.reply(on: open[1]).status == 200)
        #expect(try await scene.exchange(body: OTLPScene.logs(["z"])).status == 200)
        // The first one was quiet for longest.
        await #expect(throws: OTLPScene.Closed.self) { try await scene.reply(on: open[0]) }
        #expect(scene.source.lag.problems.contains { $0.hasPrefix("since the start 1 connections were refused") })
    }

    @Test func `A socket with a path is for the agent's user, or for a group`() async throws {
        let scene = try OTLPScene(hasSocket: true)
        var status = stat()
        #expect(stat(scene.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let connection = try OTLPScene.connected(.path(scene.path))
        defer { close(connection) }
        // There a name cannot be forged.
        OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["x"]), host: "otlp.socket"), to: connection)
        #expect(try await scene.reply(on: connection).status == 200)
        scene.committer.finish()
        #expect(access(scene.path, F_OK) != 0)
        let own = try #require(getgrgid(getegid())).pointee.gr_name.map { String(cString: $0) }
        let shared = try OTLPScene(hasSocket: true) { $0.group = own }
        #expect(stat(shared.path, &status) == 0 && status.st_mode & 0o777 == 0o660 && status.st_gid == getegid())
        let without = try OTLPScene(hasSocket: true) { $0.group = "no-such-group" }
        #expect(without.source.lag.problems.contains { $0.contains("no group no-such-group") })
        #expect(access(without.path, F_OK) != 0)
    }

    @Test func `A stop stores and answers what came before it, and nothing afterwards`() async throws {
        let scene = try OTLPScene()
        let connection = try scene.connected()
        let idle = try scene.connected()
        defer { for descriptor in [connection, idle] { close(descriptor) } }
        let port = try #require(scene.source.server.ports.first)
        OTLPScene.send(OTLPScene.request(body: try OTLPScene.logs(["before"])), to: connection)
        while scene.source.lag.bytes == 0 { await Task.yield() }
        scene.committer.finish()
        #expect(try scene.stored.messages == ["before"])
        var text = [UInt8](repeating: 0, count: 4_096)
        let count = recv(connection, &text, text.count, 0)
        #expect(String(decoding: text.prefix(max(0, count)), as: UTF8.self).hasPrefix("HTTP/1.1 200"))
        #expect(recv(connection, &text, text.count, 0) == 0 && recv(idle, &text, text.count, 0) == 0)
        #expect(throws: (any Error).self) { try OTLPScene.connected(.internet(host: "127.0.0.1", port: port)) }
    }

    @Test func `What is no HTTP, or no OTLP, is refused, and the next sender is served`() async throws {
        let scene = try OTLPScene()
        var dice = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            let connection = try scene.connected()
            defer { close(connection) }
            OTLPScene.send((0..<200).map { _ in UInt8.random(in: 0...255, using: &dice) }, to: connection)
            shutdown(connection, Int32(SHUT_WR))
            _ = try? await scene.reply(on: connection)
        }
        let good = try OTLPScene.logs(["good"])
        for length in stride(from: 1, to: good.count, by: 3) {
            let status = try await scene.exchange(body: Array(good[..<length])).status
            #expect([200, 400].contains(status))
        }
        for (body, headers, status) in [
            ([UInt8](repeating: 0x0A, count: 5), [OTLPScene.protobuf], 400),
            (Array("{".utf8), [OTLPScene.json], 400),
            (Array(String(repeating: "[", count: 100_000).utf8), [OTLPScene.json], 400),
            (good, ["Content-Type: text/plain"], 415),
            (good, [OTLPScene.protobuf, "Content-Encoding: zstd"], 415),
            (good, [OTLPScene.protobuf, "Content-Encoding: gzip"], 400),
            ([UInt8](repeating: 0, count: 0), [OTLPScene.protobuf], 200),
            ((0..<300_000).flatMap { _ in [UInt8(0x0A), 0] }, [OTLPScene.protobuf], 413),
        ] {
            #expect(try await scene.exchange(headers: headers, body: body).status == status)
        }
        #expect(try await scene.exchange("/v1/logs", body: [], method: "GET").headers["allow"] == "POST")
        #expect(try await scene.exchange("/v1/traces", body: []).status == 404)
        #expect(try await scene.exchange(body: good).status == 200)
        #expect(scene.source.bodyBytes == 0)
    }
}

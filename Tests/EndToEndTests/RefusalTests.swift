import AsyncHTTPClient
import Foundation
import Gzip
import NIOCore
import NIOHTTP1
import Testing
import WireModel

/// Whatever is sent to the collector, it answers a problem+json that a program can act on, and goes on serving.
@Suite(.timeLimit(.minutes(3)))
struct RefusalTests {
    private struct Refusal {
        let name: String
        var method = HTTPMethod.POST
        var path = WireNames.batchesPath
        var credential: Credential = .device
        var headers: [(String, String)] = [("content-type", WireNames.protobuf)]
        var body = Data()
        let status: UInt
    }

    private enum Credential { case none, wrong, device, administrator, enrollment }

    private static func gzipped(_ data: Data) throws -> Data { try GzipCodec.compress(data, level: 9) }

    private static func refusals() throws -> [Refusal] {
        let gzip = [("content-type", WireNames.protobuf), ("content-encoding", "gzip")]
        let nothing = Data(count: 64 << 20)
        return [
            Refusal(name: "no credential", credential: .none, status: 401),
            Refusal(name: "unknown credential", credential: .wrong, status: 401),
            Refusal(name: "an administrator is no device", credential: .administrator, status: 401),
            Refusal(name: "a device is no person", method: .GET, path: "/api/v1/devices", headers: [], status: 401),
            Refusal(
                name: "an enrollment token is no person", method: .GET, path: "/api/v1/events", credential: .enrollment,
                headers: [],
                status: 401),
            Refusal(name: "unknown enrollment token", path: WireNames.enrollPath, credential: .wrong, status: 401),
            Refusal(
                name: "no such path", method: .GET, path: "/api/v1/nothing", credential: .administrator, headers: [],
                status: 404),
            Refusal(
                name: "no such device", method: .GET, path: "/api/v1/devices/00", credential: .administrator,
                headers: [], status: 404),
            Refusal(name: "wrong method", method: .DELETE, headers: [], status: 405),
            Refusal(
                name: "limit out of range", method: .GET, path: "/api/v1/events?limit=0", credential: .administrator,
                headers: [],
                status: 400),
            Refusal(
                name: "cursor made up", method: .GET, path: "/api/v1/events?cursor=zzz", credential: .administrator,
                headers: [],
                status: 400),
            Refusal(name: "no protobuf", body: Data("<html>".utf8), status: 400),
            Refusal(name: "no gzip", headers: gzip, body: Data("plain".utf8), status: 400),
            Refusal(name: "gzip cut short", headers: gzip, body: try gzipped(Data(0...255)).dropLast(9), status: 400),
            Refusal(
                name: "other encoding", headers: [("content-type", WireNames.protobuf), ("content-encoding", "br")],
                body: Data([1]),
                status: 415),
            Refusal(
                name: "other type", headers: [("content-type", "application/json")], body: Data("{}".utf8),
                status: 415),
            Refusal(name: "inflates without end", headers: gzip, body: try gzipped(nothing), status: 413),
        ]
    }

    /// Refused from the header alone, while the body is on its way or never comes.
    private static func rawRefusals(device: String) -> [(name: String, text: String, status: Int)] {
        func head(_ line: String, _ fields: String...) -> String {
            ([line, "Host: localhost", "Authorization: Bearer \(device)", "Content-Type: \(WireNames.protobuf)"]
                + fields).joined(
                    separator: "\r\n")
                + "\r\n\r\n"
        }
        let batches = "POST \(WireNames.batchesPath) HTTP/1.1"
        return [
            ("body over the limit", head(batches, "Content-Length: \(5 << 20)") + "the first bytes", 413),
            ("a length that is none", head(batches, "Content-Length: many"), 400),
            ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n", 400),
            ("a header without end", head(batches, "X-Long: " + String(repeating: "x", count: 200_000)), 400),
        ]
    }

    @Test func `Every refusal is a problem with a code`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let tokens: [Credential: String] = [
                .wrong: "ws1-no-such-credential", .administrator: deployment.token("administrator-token"),
                .enrollment: deployment.token("enrollment-token"), .device: try await deployment.enrollDevice(),
            ]
            for refusal in try Self.refusals() {
                var request = HTTPClientRequest(url: deployment.collectorURL + refusal.path)
                request.method = refusal.method
                for (name, value) in refusal.headers { request.headers.add(name: name, value: value) }
                if let token = tokens[refusal.credential] {
                    request.headers.add(name: "authorization", value: "Bearer \(token)")
                }
                if !refusal.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: refusal.body)) }
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
                let body = String(buffer: try await response.body.collect(upTo: 1 << 20))
                #expect(response.status.code == refusal.status, "\(refusal.name): \(response.status) \(body)")
                #expect(
                    response.headers.first(name: "content-type")?.hasPrefix(WireNames.problem) == true,
                    "\(refusal.name): \(response.headers)")
                #expect(
                    response.headers.contains(name: WireNames.versionHeader),
                    "\(refusal.name): without \(WireNames.versionHeader)")
                let problem = try? JSONDecoder().decode(Problem.self, from: Data(body.utf8))
                #expect(
                    problem?.code.isEmpty == false && problem?.status == Int(refusal.status), "\(refusal.name): \(body)"
                )
            }
            for (name, text, status) in Self.rawRefusals(device: tokens[.device] ?? "") {
                let answer = try await RawExchange.send(Data(text.utf8), to: deployment.collectorPort)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(name): \(answer)")
                #expect(answer.contains("\"code\":"), "\(name): \(answer)")
            }
            // And a device with good manners is served as ever.
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let outcome = try await deployment.record(event: "after.refusals", value: 1)
            #expect(outcome.succeeded, "\(outcome)")
            try await deployment.waitUntilSent()
            #expect(try await deployment.storedEvents()["after.refusals"] == 1)
        }
    }
}

extension Deployment {
    func token(_ file: String) -> String {
        Program.text("\(collectorData)/\(file)").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Enrolls a device of its own; its credential.
    func enrollDevice() async throws -> String {
        var message = WireEnrollRequest()
        message.machineHash = "end-to-end"
        message.deviceName = "refused"
        var request = HTTPClientRequest(url: collectorURL + WireNames.enrollPath)
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(token("enrollment-token"))")
        request.headers.add(name: "content-type", value: WireNames.protobuf)
        request.body = .bytes(ByteBuffer(bytes: message.encoded))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else { throw EndToEndError("enroll: \(response.status) \(String(buffer: body))") }
        return try WireEnrollAnswer.decode(Data(body.readableBytesView)).credential
    }
}

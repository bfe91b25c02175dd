import Collector
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Registry
import Testing
import WireModel

@Suite("Who may do what")
struct AccessTests {
    @Test func `Expired and revoked are distinguished`() async throws {
        let harness = Harness()
        let revoked = try await harness.enrolledDevice()
        try await harness.metadata.unenroll(device: revoked.id)
        try await harness.route { client in
            let second = try await client.send(.get, WireNames.commandsPath, bearer: revoked.credential)
            #expect(second.status == .forbidden)
            #expect(try second.problem.code == Problem.Code.revoked.rawValue)
            let third = try await client.post(
                WireNames.enrollPath, bearer: "enroll-expired", WireEnrollRequest().encoded)
            #expect(try third.problem.code == Problem.Code.credentialExpired.rawValue)
        }
    }

    @Test func `Every answer says who answers`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let requests: [(HTTPRequest.Method, String, String?)] = [
            (.get, "/livez", nil), (.get, "/readyz", nil), (.get, "/nothing", nil), (.get, "/", nil),
            (.delete, "/livez", nil),
            (.get, WireNames.batchesPath, device.credential), (.post, WireNames.batchesPath, device.credential),
            (.post, WireNames.batchesPath, nil), (.get, "/api/v1/devices", "viewer-default"),
            (.get, "/api/v1/devices?limit=0", "viewer-default"), (.get, "/api/v1/devices/", "viewer-default"),
            (.get, WireNames.profilePath, device.credential),
        ]
        typealias Send = (HTTPRequest.Method, String, String?) async throws -> any CollectorResponse
        let check: @Sendable (Send) async throws -> Void = { send in
            for (method, path, bearer) in requests {
                let response = try await send(method, path, bearer)
                #expect(
                    response.headers[.init(WireNames.versionHeader)!] == CollectorVersion.current, "\(method) \(path)")
                #expect(response.headers[.init(WireNames.collectorHeader)!] == harness.metadata.collectorID.description)
                #expect(
                    response.headers[.init(WireNames.incarnationHeader)!] == harness.metadata.incarnationID.description)
                if response.status.code >= 400 { _ = try response.problem }
            }
        }
        try await harness.route { client in try await check { try await client.send($0, $1, bearer: $2) } }
        try await harness.live { client in try await check { try await client.send($0, $1, bearer: $2) } }
    }

    @Test func `An unknown path is 404, and another method 405 with what is allowed`() async throws {
        let harness = Harness()
        try await harness.route { client in
            let unknown = try await client.send(.get, "/api/v1/nothing")
            #expect(unknown.status == .notFound)
            #expect(try unknown.problem.code == "not-found")
            let method = try await client.send(.put, WireNames.batchesPath)
            #expect(method.status == .methodNotAllowed)
            #expect(method.headers[.allow] == "POST")
            #expect(try method.problem.code == "method-not-allowed")
        }
    }
}

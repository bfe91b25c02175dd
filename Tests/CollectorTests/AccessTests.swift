import Collector
import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import WireModel

@Suite("Who may do what")
struct AccessTests {
    /// A path with its parameters filled in.
    private static func path(_ route: Route, device: DeviceID, command: String = CommandID.random().description) -> String {
        route.path.replacing("{device}", with: device.description).replacing("{command}", with: command)
            .replacing("{organization}", with: "default").replacing("{app}", with: "com.example.shop")
    }

    @Test func everyRouteButHealthRefusesNoCredentialAWrongOneAndAnotherKindOfOne() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            for route in harness.server.responder.routes where route.access != .anyone {
                let path = Self.path(route, device: device.id)
                var strangers: [String?] = [nil, "nonsense", ""]
                switch route.access {
                case .device: strangers += ["administrator-default", "enroll-default"]
                case .person: strangers += [device.credential, "enroll-default"]
                case .enrollmentToken: strangers += [device.credential, "administrator-default"]
                case .anyone: break
                }
                for stranger in strangers {
                    let response = try await client.send(route.method, path, bearer: stranger)
                    #expect(response.status == .unauthorized, "\(route.method) \(path) with \(stranger ?? "nothing")")
                    #expect(try response.problem.code == "credential-unknown")
                    #expect(response.headers[.wwwAuthenticate] != nil)
                }
            }
        }
    }

    @Test func everyRoleReadsAndAnotherOrganizationSeesNothing() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        // Something to see behind every path.
        for application in ["", "com.example.shop"] {
            let scope = ProfileScope(organization: "default", application: application)
            _ = try await harness.library.putProfile(WireProfile(), scope, expected: nil, author: "")
        }
        let new = NewCommand(
            device: device.id, action: .sendBeacon(WireSendBeacon()), expires: Harness.now + 1, issuer: "", idempotencyKey: nil,
            request: Data())
        let command = CommandID(try await harness.library.issue(new, organization: nil).row.command.id)
        try await harness.route { client in
            for route in harness.server.responder.routes {
                guard case .person(let least) = route.access, route.method == .get else { continue }
                let path = Self.path(route, device: device.id, command: try #require(command).description)
                for role in PersonRole.allCases {
                    let response = try await client.send(.get, path, bearer: "\(role)-default")
                    #expect(response.status == (role >= least ? .ok : .forbidden), "\(path) as \(role)")
                }
                let other = try await client.send(.get, path, bearer: "administrator-other")
                if route.path.contains("{") {
                    #expect(other.status == .notFound, "\(path) from another organization")
                } else if other.headers[.contentType]?.hasPrefix("text/plain") == true {
                    #expect(other.body.readableBytes == 0, "\(path) from another organization")
                } else {
                    #expect(try other.json.objects("items").isEmpty, "\(path) from another organization")
                }
            }
            let byParameter = try await client.send(.get, "/api/v1/events?device=\(device.id)", bearer: "administrator-other")
            #expect(byParameter.status == .notFound)
        }
    }

    @Test func expiredAndRevokedAreToldApart() async throws {
        let harness = Harness()
        let revoked = try await harness.enrolledDevice()
        try await harness.registry.unenroll(device: revoked.id)
        try await harness.route { client in
            let second = try await client.send(.get, WireNames.commandsPath, bearer: revoked.credential)
            #expect(second.status == .forbidden)
            #expect(try second.problem.code == Problem.Code.revoked)
            let third = try await client.post(WireNames.enrollPath, bearer: "enroll-expired", WireEnrollRequest().encoded)
            #expect(try third.problem.code == Problem.Code.credentialExpired)
        }
    }

    @Test func everyAnswerSaysWhoAnswers() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let requests: [(HTTPRequest.Method, String, String?)] = [
            (.get, "/livez", nil), (.get, "/readyz", nil), (.get, "/nothing", nil), (.get, "/", nil), (.delete, "/livez", nil),
            (.get, WireNames.batchesPath, device.credential), (.post, WireNames.batchesPath, device.credential),
            (.post, WireNames.batchesPath, nil), (.get, "/api/v1/devices", "viewer-default"),
            (.get, "/api/v1/devices?limit=0", "viewer-default"), (.get, "/api/v1/devices/", "viewer-default"),
            (.get, WireNames.profilePath, device.credential),
        ]
        typealias Send = (HTTPRequest.Method, String, String?) async throws -> any CollectorResponse
        let check: @Sendable (Send) async throws -> Void = { send in
            for (method, path, bearer) in requests {
                let response = try await send(method, path, bearer)
                #expect(response.headers[.init(WireNames.versionHeader)!] == CollectorVersion.current, "\(method) \(path)")
                #expect(response.headers[.init(WireNames.collectorHeader)!] == harness.registry.collectorID.description)
                #expect(response.headers[.init(WireNames.incarnationHeader)!] == harness.registry.incarnationID.description)
                if response.status.code >= 400 { _ = try response.problem }
            }
        }
        try await harness.route { client in try await check { try await client.send($0, $1, bearer: $2) } }
        try await harness.live { client in try await check { try await client.send($0, $1, bearer: $2) } }
    }

    @Test func anUnknownPathIs404AndAnotherMethod405WithWhatIsAllowed() async throws {
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

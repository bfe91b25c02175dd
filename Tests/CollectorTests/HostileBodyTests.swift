import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import WireModel

@testable import Collector

/// JSON that costs more than it says, to every route that accepts some.
@Suite("Hostile bodies") struct HostileBodyTests {
    private static func nested(_ depth: Int) -> Data {
        Data(
            (#"{"a":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}").utf8
        )
    }

    @Test func `Every route with a JSON body refuses what is too deep or too much before it is looked into`()
        async throws
    {
        try await RouteScene.play { scene in
            var tried: [String] = []
            for route in RouteSample.order(scene.harness.server.responder.routes) {
                guard let sample = RouteSample.all[route.name] else { continue }
                var request = try await sample.request(scene)
                guard [WireNames.json, WireNames.mergePatch].contains(request.headers[.contentType]) else { continue }
                tried.append(route.name)
                for (body, says) in [
                    (Self.nested(17), "nested too deeply at byte 21: at most 16"),
                    (Self.nested(600), "nested too deeply at byte 21"),
                    (Data(#"{"a":1,"a":2}"#.utf8), "`a` twice"),
                    (Data(#"{"\#(String(repeating: "n", count: 257))":1}"#.utf8), "256 bytes"),
                    (
                        Data(#"{"a":"\#(String(repeating: "\u{301}\u{316}", count: 16))"}"#.utf8),
                        "30 combining characters"
                    ),
                    (Data(#"{"a":01}"#.utf8), "is not JSON: byte 7"), (Data([0x7B, 0x22, 0xFF, 0x22]), "UTF-8"),
                    (Data(), "ends too early"),
                ] {
                    request.body = body
                    let response = try await scene.send(request, as: .administratorOfAll)
                    let answer = Comment(
                        rawValue: "\(route.name): \(response.status) \(String(buffer: response.body).prefix(300))")
                    #expect(response.status == .badRequest, answer)
                    #expect(
                        try response.problem.code == "malformed" && response.problem.detail?.contains(says) == true,
                        answer)
                }
                // As deep as is accepted: the document is looked into, and has no such field.
                request.body = Self.nested(16)
                let response = try await scene.send(request, as: .administratorOfAll)
                #expect(response.status != .badRequest, "\(route.name): \(String(buffer: response.body).prefix(300))")
            }
            #expect(
                tried.sorted() == [
                    "PATCH /api/v1/profiles/{organization}", "PATCH /api/v1/profiles/{organization}/{application}",
                    "POST /api/v1/device-jobs", "POST /api/v1/devices/{device}/commands",
                    "POST /api/v1/devices/{device}/predecessor", "POST /api/v1/notices/{notice}/mute",
                    "POST /api/v1/organizations",
                    "POST /api/v1/profile-revisions/{organization}/rollback",
                    "POST /api/v1/profile-revisions/{organization}/validate",
                    "POST /api/v1/records/purge", "POST /api/v1/tokens", "PUT /api/v1/assignments/{organization}",
                    "PUT /api/v1/devices/{device}/do-not-disturb", "PUT /api/v1/log-quotas/{organization}",
                    "PUT /api/v1/log-quotas/{organization}/{application}",
                    "PUT /api/v1/profiles/{organization}", "PUT /api/v1/profiles/{organization}/{application}",
                ])
        }
    }
}

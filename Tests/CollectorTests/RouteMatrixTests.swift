import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import NIOCore
import Registry
import Testing
import WireModel

/// The whole table of routes, called by everybody: who may not is refused, and nobody sees another organization's data.
@Suite("Routes and callers")
struct RouteMatrixTests {
    /// What a caller gets from a route, by its declared access alone; `nil`: whatever the route answers to those who
    /// may.
    private static func refusal(_ access: Route.Access, _ caller: RouteScene.Caller) -> (status: Int, code: String)? {
        switch access {
        case .anyone: return nil
        case .enrollmentToken:
            switch caller {
            case .enrollmentToken: return nil
            case .expiredEnrollmentToken: return (401, Problem.Code.credentialExpired.rawValue)
            default: return (401, Problem.Code.credentialUnknown.rawValue)
            }
        case .device:
            switch caller {
            case .device: return nil
            case .revokedDevice: return (403, Problem.Code.revoked.rawValue)
            default: return (401, Problem.Code.credentialUnknown.rawValue)
            }
        case .otlpToken:
            return caller == .otlpToken ? nil : (401, Problem.Code.credentialUnknown.rawValue)
        case .person(let least):
            guard let role = caller.role else { return (401, Problem.Code.credentialUnknown.rawValue) }
            return role >= least ? nil : (403, "forbidden")
        }
    }

    @Test func `Every route has a sample`() {
        let routes = Set(Harness().server.responder.routes.map(\.name))
        #expect(routes.subtracting(RouteSample.all.keys).isEmpty, "add them to RouteSample.all")
        #expect(Set(RouteSample.all.keys).subtracting(routes).isEmpty, "not served")
    }

    @Test func `Every route answers every caller as its access says`() async throws {
        try await RouteScene.play { scene in
            for route in RouteSample.order(scene.harness.server.responder.routes) {
                guard let sample = RouteSample.all[route.name] else { continue }
                for caller in RouteScene.Caller.allCases {
                    let response = try await scene.send(try await sample.request(scene), as: caller)
                    let status = Int(response.status.code)
                    let answer = Comment(
                        rawValue: "\(route.name) as \(caller): \(status) \(String(buffer: response.body).prefix(200))")
                    if let (expected, code) = Self.refusal(route.access, caller) {
                        #expect(status == expected, answer)
                        if route.access == .otlpToken {
                            // Those have another form of refusals.
                            #expect(response.headers[.contentType] == WireNames.protobuf, answer)
                        } else {
                            #expect(try response.problem.code == code, answer)
                        }
                        #expect((response.headers[.wwwAuthenticate] != nil) == (status == 401), answer)
                    } else if caller == .otherViewer || caller == .otherAdministrator, route.access != .anyone {
                        #expect(sample.strangers.contains(status), answer)
                    } else if RouteSample.ofAllOrganizations.contains(route.name), caller != .administratorOfAll {
                        #expect(status == 403, answer)
                    } else {
                        #expect(status == sample.status, answer)
                    }
                    // Secrets are said where they are made and nowhere else.
                    if route.method == .get {
                        for secret in scene.bearers.values where secret != "nonsense" {
                            #expect(!String(buffer: response.body).contains(secret), answer)
                        }
                    }
                }
            }
        }
    }

    @Test func `Nothing of one organization is in any answer to another`() async throws {
        try await RouteScene.play { scene in
            let routes = scene.harness.server.responder.routes
            let people = routes.filter { if case .person = $0.access { true } else { false } }
            // What the organization's own administrator sees: where the marker is, and what must be the same
            // afterwards.
            var shown: [String: String] = [:]
            for route in people where route.method == .get {
                guard let sample = RouteSample.all[route.name] else { continue }
                shown[route.name] = String(
                    buffer: try await scene.send(try await sample.request(scene), as: .administrator).body)
            }
            let silent = shown.filter { !$0.value.contains(RouteScene.marker) }.keys.sorted()
            #expect(
                silent == [
                    "GET /api/v1/about", "GET /api/v1/balance",
                    // Of the collector as a whole: refused to them, as the last two.
                    "GET /api/v1/capacity", "GET /api/v1/certificates",
                    "GET /api/v1/devices/{device}/balance", "GET /api/v1/devices/{device}/do-not-disturb",
                    // Numbers alone: `latitude` stands for the marker.
                    "GET /api/v1/devices/{device}/positions",
                    "GET /api/v1/log-quotas/{organization}", "GET /api/v1/logs/histogram",
                    "GET /api/v1/metrics-catalog", "GET /api/v1/organizations",
                    "GET /api/v1/organizations/{organization}",
                    "GET /api/v1/retention", "GET /metrics",
                ], "an answer without the marker proves nothing: seed it in RouteScene")
            #expect(shown["GET /api/v1/devices/{device}/positions"]?.contains("\(RouteScene.latitude)") == true)
            let own = [
                RouteScene.marker, "\(RouteScene.latitude)", "\(scene.device.deviceID)", "\(scene.second.deviceID)",
                scene.command,
                "\(scene.upload)", scene.token,
                "\"default\"",
            ]
            for route in people {
                guard let sample = RouteSample.all[route.name] else { continue }
                // What a call makes for itself is made before the stranger comes.
                let request = try await sample.request(scene)
                for caller in [RouteScene.Caller.otherViewer, .otherAdministrator] {
                    let answer = String(buffer: try await scene.send(request, as: caller).body)
                    for word in own {
                        #expect(!answer.contains(word), "\(route.name) as \(caller): \(answer.prefix(300))")
                    }
                    // Without the ids too, as the stranger's own.
                    guard route.method == .get, !route.path.contains("{") else { continue }
                    let plain = String(buffer: try await scene.send(RouteRequest(.get, route.path), as: caller).body)
                    for word in own {
                        #expect(!plain.contains(word), "\(route.path) as \(caller): \(plain.prefix(300))")
                    }
                }
            }
            // And the stranger has changed nothing. (These show the devices and tokens that the test itself made for
            // the calls.)
            let counting: Set = [
                "/api/v1/audit", "/api/v1/tokens", "/api/v1/organizations", "/api/v1/organizations/{organization}",
                "/api/v1/profile-revisions/{organization}/adoption", "/api/v1/metrics/series",
                "/metrics/devices",
            ]
            for route in people where route.method == .get && !counting.contains(route.path) {
                guard let sample = RouteSample.all[route.name] else { continue }
                let again = String(
                    buffer: try await scene.send(try await sample.request(scene), as: .administrator).body)
                #expect(again == shown[route.name], "\(route.name)")
            }
        }
    }

    /// Every route for people accepts the parameter `organization`. With it, whoever sees all organizations sees one.
    @Test func `The parameter organization narrows every route`() async throws {
        try await RouteScene.play { scene in
            let all = scene.bearers[.administratorOfAll] ?? ""
            for route in scene.harness.server.responder.routes where route.method == .get {
                guard case .person = route.access, let sample = RouteSample.all[route.name],
                    !RouteSample.ofAllOrganizations.contains(route.name)
                else { continue }
                let request = try await sample.request(scene)
                func answer(_ organization: String, _ bearer: String?) async throws -> (status: Int, text: String) {
                    let path = request.path + (request.path.contains("?") ? "&" : "?") + "organization=\(organization)"
                    let response = try await scene.client.send(.get, path, bearer: bearer)
                    return (Int(response.status.code), String(buffer: response.body))
                }
                let own = try await answer("default", scene.bearers[.administrator])
                let narrowed = try await answer("default", all)
                #expect(narrowed.status == own.status && narrowed.text == own.text, "\(route.name)")
                let other = try await answer("other", all)
                #expect(!other.text.contains(RouteScene.marker), "\(route.name): \(other.text.prefix(300))")
                for (organization, bearer) in [("nowhere", all), ("default", scene.bearers[.otherAdministrator] ?? "")]
                {
                    #expect(try await answer(organization, bearer).status == 404, "\(route.name) \(organization)")
                }
                let everything = try await answer("*", all)
                #expect(everything.status == sample.status, "\(route.name): \(everything.text.prefix(300))")
            }
        }
    }

    /// Ids in parameters and cursors reach no further than ids in paths.
    @Test func `Parameters reach no further than paths`() async throws {
        try await RouteScene.play { scene in
            let device = scene.device.deviceID
            let page = try await scene.client.json(
                "/api/v1/devices?limit=1&sort=name", bearer: scene.bearers[.administrator] ?? "")
            let cursor = try #require(page.text("next"))
            for path in [
                "/api/v1/events?device=\(device)", "/api/v1/events/summary?device=\(device)",
                "/api/v1/logs?device=\(device)",
                "/api/v1/logs/content?device=\(device)", "/api/v1/logs/lines?device=\(device)",
                "/api/v1/logs/facets?device=\(device)", "/api/v1/logs/histogram?device=\(device)",
                "/api/v1/devices?q=\(device)", "/api/v1/devices?organization=default",
                "/api/v1/devices?sort=name&cursor=\(cursor)",
                "/api/v1/devices/\(scene.strangerDevice.deviceID)/commands/\(scene.command)",
                "/api/v1/audit?actor=administrator",
                "/api/v1/profile-revisions/other/diff?application=\(RouteScene.application)",
            ] {
                let response = try await scene.send(RouteRequest(.get, path), as: .otherAdministrator)
                let answer = String(buffer: response.body)
                #expect(
                    [200, 404].contains(response.status.code) && !answer.contains(RouteScene.marker),
                    "\(path): \(answer)")
            }
            let predecessor = RouteRequest(
                .post, "/api/v1/devices/\(scene.strangerDevice.deviceID)/predecessor",
                json: #"{"device": "\#(device)"}"#)
            #expect(try await scene.send(predecessor, as: .otherAdministrator).status == .unprocessableContent)
            let preview = RouteRequest(
                .post, "/api/v1/profile-revisions/other/validate?device=\(device)", json: "{}")
            #expect(try await scene.send(preview, as: .otherAdministrator).status == .notFound)
        }
    }
}

import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import LogArchive
import Registry
import WireModel

/// How a route is called with the data of organization `default`, and how it answers those who may and those of another
/// organization.
///
/// Every route has one: `RouteMatrixTests` fails for a route that is not here. Name in `path` the ids of `scene`, so
/// that another organization's administrator who knows them is tried out too.
struct RouteSample: Sendable {
    /// The status for those who may.
    let status: Int
    /// The statuses for the administrator of the other organization: not there, refused, or answered without anything
    /// of `default`.
    let strangers: Set<Int>
    /// A fresh one for every call: what is done away with is made before.
    let request: @Sendable (RouteScene) async throws -> RouteRequest

    init(
        _ status: Int = 200, strangers: Set<Int> = [404],
        _ request: @escaping @Sendable (RouteScene) async throws -> RouteRequest
    ) {
        (self.status, self.strangers, self.request) = (status, strangers, request)
    }

    private static func get(_ path: String, strangers: Set<Int> = [200]) -> RouteSample {
        RouteSample(strangers: strangers) { _ in RouteRequest(.get, path) }
    }

    private static func device(_ rest: String) -> RouteSample {
        RouteSample { RouteRequest(.get, "/api/v1/devices/\($0.device.deviceID)" + rest) }
    }

    private static let profile = #"{"customPayload": "\#(RouteScene.marker)"}"#
    private static let protobuf = WireNames.protobuf

    static let all: [String: RouteSample] = [
        // Health.
        "GET /livez": get("/livez"),
        "GET /readyz": get("/readyz"),
        "GET /metrics": get("/metrics", strangers: [403]),
        "GET /metrics/devices": get("/metrics/devices"),

        // Senders of OTLP: an empty request.
        "POST /v1/logs": RouteSample { _ in RouteRequest(.post, "/v1/logs", protobuf, body: Data()) },
        "POST /v1/metrics": RouteSample { _ in RouteRequest(.post, "/v1/metrics", protobuf, body: Data()) },

        // Devices' own.
        "POST /api/v1/enroll": RouteSample { _ in
            RouteRequest(.post, WireNames.enrollPath, protobuf, body: WireEnrollRequest().encoded)
        },
        "POST /api/v1/rotate": RouteSample { _ in RouteRequest(.post, WireNames.rotatePath) },
        // Last of all: see `order`.
        "POST /api/v1/unenroll": RouteSample(204) { _ in RouteRequest(.post, WireNames.unenrollPath) },
        "POST /api/v1/batches": RouteSample { _ in
            var events = ChainBuilder(stream: .event)
            return RouteRequest(.post, WireNames.batchesPath, protobuf, body: [events.events(["a"])].request)
        },
        // An empty one is malformed; who asks is known before that.
        "POST /api/v1/streams/close": RouteSample(400) { _ in
            RouteRequest(.post, WireNames.closePath, protobuf, body: Data())
        },
        "GET /api/v1/commands": get(WireNames.commandsPath),
        "GET /api/v1/profile": get(WireNames.profilePath),
        "GET /api/v1/assignments": get(WireNames.assignmentsPath),
        "GET /api/v1/do-not-disturb": get(WireNames.doNotDisturbPath),
        // Without the id of a request it is malformed; who asks is known before that.
        "PUT /api/v1/do-not-disturb": RouteSample(400) { _ in
            RouteRequest(.put, WireNames.doNotDisturbPath, protobuf, body: WireSetDoNotDisturb().encoded)
        },
        "PUT /api/v1/uploads/{upload}": RouteSample(409) {
            RouteRequest(
                .put, "\(WireNames.uploadsPath)/\($0.upload)", protobuf,
                body: try LogBook.single.manifest($0.upload).encoded)
        },
        "GET /api/v1/uploads/{upload}": RouteSample { RouteRequest(.get, "\(WireNames.uploadsPath)/\($0.upload)") },
        "PUT /api/v1/uploads/{upload}/chunks/{number}": RouteSample {
            RouteRequest(
                .put, "\(WireNames.uploadsPath)/\($0.upload)/chunks/1", WireNames.gzip,
                body: try LogBook.single.chunks[0].gzip)
        },
        "POST /api/v1/uploads/{upload}/complete": RouteSample {
            RouteRequest(
                .post, "\(WireNames.uploadsPath)/\($0.upload)/complete", protobuf, body: WireCompleteUpload().encoded)
        },

        // Devices.
        "GET /api/v1/devices": get("/api/v1/devices?q=\(RouteScene.marker)&test=true"),
        "GET /api/v1/devices/facets": get("/api/v1/devices/facets?q=\(RouteScene.marker)&test=true"),
        "GET /api/v1/devices/{device}": device(""),
        "GET /api/v1/devices/{device}/beacons": device("/beacons?test=true"),
        "GET /api/v1/devices/{device}/samples": device("/samples?metrics=true"),
        "GET /api/v1/devices/{device}/otlp": RouteSample {
            RouteRequest(.get, "/api/v1/devices/\($0.otlpDevice)/otlp")
        },
        "GET /api/v1/devices/{device}/balance": device("/balance"),
        "GET /api/v1/devices/{device}/uploads": device("/uploads"),
        "GET /api/v1/devices/{device}/commands": device("/commands"),
        "GET /api/v1/devices/{device}/commands/{command}": RouteSample {
            RouteRequest(.get, "/api/v1/devices/\($0.device.deviceID)/commands/\($0.command)")
        },
        "DELETE /api/v1/devices/{device}/commands/{command}": RouteSample {
            RouteRequest(.delete, "/api/v1/devices/\($0.device.deviceID)/commands/\($0.command)")
        },
        "POST /api/v1/devices/{device}/commands": RouteSample(201) {
            RouteRequest(.post, "/api/v1/devices/\($0.device.deviceID)/commands", json: #"{"kind": "send-beacon"}"#)
        },
        "POST /api/v1/devices/{device}/revoke": RouteSample {
            RouteRequest(.post, "/api/v1/devices/\(try await $0.anotherDevice().id)/revoke")
        },
        "POST /api/v1/devices/{device}/reinstate": RouteSample {
            let device = try await $0.anotherDevice().id
            _ = try await $0.harness.metadata.revokeDevice(device, organization: nil, by: .commandLine)
            return RouteRequest(.post, "/api/v1/devices/\(device)/reinstate")
        },
        "DELETE /api/v1/devices/{device}": RouteSample {
            let device = try await $0.anotherDevice()
            return RouteRequest(.delete, "/api/v1/devices/\(device.id)?confirm=\(device.deletionConfirmation)")
        },
        "POST /api/v1/devices/{device}/predecessor": RouteSample {
            RouteRequest(
                .post, "/api/v1/devices/\($0.second.deviceID)/predecessor",
                json: #"{"device": "\#($0.device.deviceID)"}"#)
        },
        "GET /api/v1/devices/{device}/do-not-disturb": device("/do-not-disturb"),
        "PUT /api/v1/devices/{device}/do-not-disturb": RouteSample {
            RouteRequest(.put, "/api/v1/devices/\($0.device.deviceID)/do-not-disturb", json: #"{"on": false}"#)
        },
        "GET /api/v1/devices/{device}/positions": device("/positions"),
        "GET /api/v1/devices/{device}/samples/series": device("/samples/series?metric=till.sales"),
        "GET /api/v1/balance": get("/api/v1/balance?test=true"),
        "POST /api/v1/balance": RouteSample(202, strangers: [202]) { _ in RouteRequest(.post, "/api/v1/balance") },
        "GET /api/v1/device-commands": get("/api/v1/device-commands"),
        "GET /api/v1/device-jobs": get("/api/v1/device-jobs"),
        "POST /api/v1/device-jobs": RouteSample(strangers: [422]) {
            RouteRequest(
                .post, "/api/v1/device-jobs",
                json: #"{"action": "command", "kind": "send-beacon", "devices": ["\#($0.device.deviceID)"]}"#)
        },
        "GET /api/v1/device-jobs/{job}": RouteSample { RouteRequest(.get, "/api/v1/device-jobs/\($0.job)") },
        "GET /api/v1/device-jobs/{job}/devices": RouteSample {
            RouteRequest(.get, "/api/v1/device-jobs/\($0.job)/devices")
        },
        "POST /api/v1/device-jobs/{job}/cancel": RouteSample {
            RouteRequest(.post, "/api/v1/device-jobs/\($0.job)/cancel")
        },
        "GET /api/v1/records": get("/api/v1/records?stream=event"),
        "GET /api/v1/events": get("/api/v1/events?test=true"),
        "GET /api/v1/events/summary": get("/api/v1/events/summary?by=name"),

        // Metrics.
        "GET /api/v1/metrics-catalog": get("/api/v1/metrics-catalog"),
        "GET /api/v1/metrics/latest": get("/api/v1/metrics/latest?metric=till.sales"),
        "GET /api/v1/metrics/distribution": get("/api/v1/metrics/distribution?metric=till.sales"),

        "GET /api/v1/metrics/series": get(
            "/api/v1/metrics/series?metric=till.sales&from=2020-01-01&to=2030-01-01&step=366d"),

        // Logs.
        "GET /api/v1/logs": get("/api/v1/logs?application=\(RouteScene.application)"),
        "GET /api/v1/logs/content": get("/api/v1/logs/content?ids=1,2,3"),
        "GET /api/v1/logs/lines": get("/api/v1/logs/lines?application=\(RouteScene.application)"),
        "GET /api/v1/logs/histogram": get("/api/v1/logs/histogram"),
        "GET /api/v1/logs/facets": get("/api/v1/logs/facets"),
        "GET /api/v1/logs/usage": get("/api/v1/logs/usage"),
        "GET /api/v1/log-quotas/{organization}": get("/api/v1/log-quotas/default", strangers: [404]),
        // Refused for its size: the scene's collector keeps few bytes.
        "PUT /api/v1/log-quotas/{organization}": RouteSample(422) { _ in
            RouteRequest(.put, "/api/v1/log-quotas/default", json: #"{"bytes": 5000000}"#)
        },
        "DELETE /api/v1/log-quotas/{organization}": RouteSample { _ in
            RouteRequest(.delete, "/api/v1/log-quotas/default")
        },
        "PUT /api/v1/log-quotas/{organization}/{application}": RouteSample(422) { _ in
            RouteRequest(
                .put, "/api/v1/log-quotas/default/\(RouteScene.application)", json: #"{"bytes": 5000000}"#)
        },
        "DELETE /api/v1/log-quotas/{organization}/{application}": RouteSample { _ in
            RouteRequest(.delete, "/api/v1/log-quotas/default/\(RouteScene.application)")
        },
        "DELETE /api/v1/logs": RouteSample(strangers: [200]) {
            RouteRequest(.delete, "/api/v1/logs?device=\($0.device.deviceID)")
        },
        "GET /api/v1/notices": get("/api/v1/notices"),
        "POST /api/v1/notices/{notice}/mute": RouteSample {
            RouteRequest(
                .post, "/api/v1/notices/\(try await $0.notice())/mute", json: #"{"until": "\#($0.tomorrow)"}"#)
        },
        "POST /api/v1/notices/{notice}/unmute": RouteSample {
            RouteRequest(.post, "/api/v1/notices/\(try await $0.notice())/unmute")
        },

        // Assignments.
        "GET /api/v1/assignments/{organization}": RouteSample { scene in
            if try await scene.harness.metadata.assignments(organization: "default") == nil {
                _ = try await scene.harness.metadata.putAssignments(
                    AssignmentList(applications: [.init(application: RouteScene.marker)]), organization: "default",
                    expected: nil, by: .commandLine)
            }
            return RouteRequest(.get, "/api/v1/assignments/default")
        },
        "PUT /api/v1/assignments/{organization}": RouteSample { _ in
            RouteRequest(
                .put, "/api/v1/assignments/default",
                json: #"{"applications": [{"application": "\#(RouteScene.marker)"}]}"#)
        },

        // Profiles.
        "GET /api/v1/profiles/{organization}": get("/api/v1/profiles/default", strangers: [404]),
        "PUT /api/v1/profiles/{organization}": RouteSample { _ in
            RouteRequest(.put, "/api/v1/profiles/default", json: profile)
        },
        "GET /api/v1/profiles/{organization}/{application}": get(
            "/api/v1/profiles/default/\(RouteScene.application)", strangers: [404]),
        "PUT /api/v1/profiles/{organization}/{application}": RouteSample { _ in
            RouteRequest(.put, "/api/v1/profiles/default/\(RouteScene.application)", json: profile)
        },
        "PATCH /api/v1/profiles/{organization}": RouteSample { _ in
            RouteRequest(.patch, "/api/v1/profiles/default", WireNames.mergePatch, body: Data(profile.utf8))
        },
        "PATCH /api/v1/profiles/{organization}/{application}": RouteSample { _ in
            RouteRequest(
                .patch, "/api/v1/profiles/default/\(RouteScene.application)", WireNames.mergePatch,
                body: Data(profile.utf8))
        },
        "GET /api/v1/profile-revisions/{organization}": get("/api/v1/profile-revisions/default", strangers: [404]),
        "GET /api/v1/profile-revisions/{organization}/diff": get(
            "/api/v1/profile-revisions/default/diff?to=2", strangers: [404]),
        "GET /api/v1/profile-revisions/{organization}/adoption": get(
            "/api/v1/profile-revisions/default/adoption", strangers: [404]),
        "POST /api/v1/profile-revisions/{organization}/validate": RouteSample {
            RouteRequest(
                .post, "/api/v1/profile-revisions/default/validate?device=\($0.device.deviceID)", json: profile)
        },
        "POST /api/v1/profile-revisions/{organization}/rollback": RouteSample { _ in
            RouteRequest(.post, "/api/v1/profile-revisions/default/rollback", json: #"{"revision": 2}"#)
        },

        // Administration.
        "GET /api/v1/organizations": get("/api/v1/organizations"),
        "POST /api/v1/organizations": RouteSample(201, strangers: [403]) { _ in
            RouteRequest(.post, "/api/v1/organizations", json: #"{"name": "o-\#(UInt32.random(in: 0 ... .max))"}"#)
        },
        "GET /api/v1/organizations/{organization}": get("/api/v1/organizations/default", strangers: [404]),
        "GET /api/v1/tokens": get("/api/v1/tokens"),
        "POST /api/v1/tokens": RouteSample(201, strangers: [403]) { _ in
            RouteRequest(
                .post, "/api/v1/tokens",
                json: #"{"kind": "person", "name": "x", "role": "viewer", "organization": "default"}"#)
        },
        "DELETE /api/v1/tokens/{token}": RouteSample(204) {
            let made = try await $0.harness.metadata.createPersonToken(
                name: "for one call", role: .viewer, organization: "default")
            return RouteRequest(.delete, "/api/v1/tokens/\(made.id)")
        },
        "POST /api/v1/sign-in-codes": RouteSample(201, strangers: [201]) { _ in
            RouteRequest(.post, "/api/v1/sign-in-codes")
        },
        "GET /api/v1/audit": get("/api/v1/audit"),
        "GET /api/v1/capacity": get("/api/v1/capacity", strangers: [403]),
        "GET /api/v1/certificates": get("/api/v1/certificates", strangers: [403]),
        "GET /api/v1/about": get("/api/v1/about"),
        "GET /api/v1/retention": get("/api/v1/retention", strangers: [403]),
        "POST /api/v1/retention/release": RouteSample(strangers: [403]) { _ in
            RouteRequest(.post, "/api/v1/retention/release")
        },
        "POST /api/v1/records/purge": RouteSample(strangers: [403]) { _ in
            RouteRequest(.post, "/api/v1/records/purge", json: #"{"olderThanDays": 30}"#)
        },
    ]

    /// Routes for organization administrators that refuse all but those of all organizations, with 403.
    static let ofAllOrganizations: Set<String> = [
        "GET /metrics", "POST /api/v1/organizations", "GET /api/v1/retention", "POST /api/v1/retention/release",
        "POST /api/v1/records/purge", "GET /api/v1/capacity", "GET /api/v1/certificates",
    ]

    /// The order in which routes are called: what removes the device's rights comes last.
    static func order(_ routes: [Route]) -> [Route] {
        let last = [WireNames.rotatePath, WireNames.unenrollPath]
        return routes.filter { !last.contains($0.path) } + last.compactMap { path in routes.first { $0.path == path } }
    }
}

extension Route {
    /// The name as `RouteSample.all` has it.
    var name: String { "\(method.rawValue) \(path)" }
}

extension LogBook {
    /// A chunk of one line.
    static var single: LogBook {
        get throws {
            var book = LogBook()
            try book.add(segment: 1, positions: 1...1, from: Harness.now)
            return book
        }
    }
}

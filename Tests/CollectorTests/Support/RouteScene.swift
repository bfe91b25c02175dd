import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import TelemetryBasics
import Testing
import WireModel

/// Two organizations in one collector: `default`, full of what carries `marker`, and `other`, whose people must never
/// see it.
struct RouteScene: Sendable {
    /// A text that occurs in everything that `default` has.
    static let marker = "Zebra7"
    /// Where `device` is. Nothing else has this number.
    static let latitude = 47.812345
    static let application = "com.example.\(marker)"
    static let batch = WireNames.batchesPath

    let harness: MetadataHarness
    let client: any TestClientProtocol
    let device: EnrollResult
    /// A second device of the application.
    let second: EnrollResult
    let command: String
    /// A command for both devices, which nobody works off.
    let job: String
    let upload: UploadID
    /// The id of a viewer's token of `default`.
    let token: String
    /// The device of `other`.
    let strangerDevice: EnrollResult
    /// The resource of OTLP of `default`.
    let otlpDevice: DeviceID
    /// The tokens by what callers are called in `Caller`.
    let bearers: [Caller: String]

    enum Caller: String, CaseIterable, Sendable {
        case nobody, nonsense, otlpToken, enrollmentToken, expiredEnrollmentToken, device, revokedDevice
        case scraper, viewer, `operator`, administrator
        case administratorOfAll, revokedAdministrator, expiredAdministrator, otherViewer, otherAdministrator

        var role: PersonRole? {
            switch self {
            case .scraper: .scraper
            case .viewer, .otherViewer: .viewer
            case .operator: .operator
            case .administrator, .administratorOfAll, .otherAdministrator: .administrator
            default: nil
            }
        }
    }

    static func play(_ body: @escaping @Sendable (RouteScene) async throws -> Void) async throws {
        // A quota that the logs below fill, so that there is a notice.
        let harness = try MetadataHarness(quotaBytes: 2000)
        try await harness.route { client in try await body(try await RouteScene(harness, client)) }
    }

    private init(_ harness: MetadataHarness, _ client: any TestClientProtocol) async throws {
        let metadata = harness.metadata
        self.harness = harness
        self.client = client
        let device = try await Self.enroll(harness, "\(Self.marker) kiosk", application: Self.application)
        self.device = device
        second = try await Self.enroll(harness, "\(Self.marker) second", application: Self.application)
        try await metadata.createOrganization("other")
        let other = try await metadata.createEnrollmentToken(organization: "other")
        var request = WireEnrollRequest()
        request.deviceName = "of the other"
        strangerDevice = try await metadata.enroll(token: other.token, request: request)

        let administrator = try await harness.person(.administrator)
        let made = try await metadata.createToken(
            NewToken(.person(.viewer), name: "\(Self.marker) person", organization: "default"), by: .commandLine)
        token = made.row.id
        let revoked = try await metadata.createPersonToken(
            name: "revoked", role: .administrator, organization: "default")
        try await metadata.revokeToken(revoked.id)
        let expired = try await metadata.createToken(
            NewToken(.person(.administrator), name: "expired", organization: "default", expiresInSeconds: 1),
            by: .commandLine)
        let expiredEnrollment = try await metadata.createEnrollmentToken(organization: "default", expiresInSeconds: 1)
        harness.clock.advance(seconds: 2)
        let revokedDevice = try await Self.enroll(harness, "revoked")
        _ = try await metadata.revokeDevice(revokedDevice.deviceID, organization: nil, by: .commandLine)
        let otlp = try await metadata.createOTLPToken(organization: "default")
        bearers = [
            .nonsense: "nonsense", .otlpToken: otlp.token, .enrollmentToken: harness.enrollmentToken,
            .expiredEnrollmentToken: expiredEnrollment.token,
            .device: device.credential, .revokedDevice: revokedDevice.credential, .viewer: made.secret,
            .scraper: try await harness.person(.scraper), .operator: try await harness.person(.operator),
            .administrator: administrator,
            .administratorOfAll: harness.administrator,
            .revokedAdministrator: revoked.token, .expiredAdministrator: expired.secret,
            .otherViewer: try await harness.person(.viewer, "other"),
            .otherAdministrator: try await harness.person(.administrator, "other"),
        ]

        for records in Self.records {
            let answer = try await client.post(Self.batch, bearer: device.credential, records)
            #expect(answer.status == .ok)
        }
        let log = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"\#(Self.marker)"}}]}]}]}"#
        let logged = try await client.send(
            .post, "/v1/logs", bearer: otlp.token, headers: Self.json, body: Data(log.utf8))
        #expect(logged.status == .ok, "\(String(buffer: logged.body))")
        var ofOTLP = DeviceQuery()
        ofOTLP.states = [.otlp]
        otlpDevice = try #require(try await metadata.devices(ofOTLP, after: nil, limit: 1).devices.first).id
        let profile = try await client.send(
            .put, "/api/v1/profiles/default", bearer: administrator, headers: Self.json,
            body: Data(#"{"customPayload": "\#(Self.marker)"}"#.utf8))
        #expect(profile.status == .ok, "\(String(buffer: profile.body))")
        let own = try await client.send(
            .put, "/api/v1/profiles/default/\(Self.application)", bearer: administrator, headers: Self.json,
            body: Data(#"{"customPayload": "\#(Self.marker) too"}"#.utf8))
        #expect(own.status == .ok)
        let issued = try await client.send(
            .post, "/api/v1/devices/\(device.deviceID)/commands", bearer: administrator, headers: Self.json,
            body: Data(#"{"kind": "request-logs", "arguments": {"text": "\#(Self.marker)"}}"#.utf8))
        command = try #require(try issued.json.text("id"))

        let asked = #""action": "command", "kind": "send-beacon", "filter": {"q": "\#(Self.marker)"}"#
        let proposal = try await client.send(
            .post, "/api/v1/device-jobs", bearer: administrator, headers: Self.json, body: Data("{\(asked)}".utf8))
        let begun = try await client.send(
            .post, "/api/v1/device-jobs", bearer: administrator, headers: Self.json,
            body: Data(#"{\#(asked), "confirm": "\#(try proposal.json.text("confirm") ?? "")"}"#.utf8))
        job = try #require(try begun.json.text("id"))

        var book = LogBook()
        book.application = Self.application
        try book.add(segment: 1, positions: 1...30, from: Harness.now, word: Self.marker)
        upload = try await UploadScene(harness: harness, client: client, device: device, person: administrator)
            .upload(book, command: try #require(CommandID(command)).data)
    }

    static let json: HTTPFields = [.contentType: WireNames.json]

    private static func enroll(
        _ harness: MetadataHarness, _ name: String, application: String = "", machine: String = "m"
    ) async throws -> EnrollResult {
        var request = WireEnrollRequest()
        request.deviceName = name
        request.application = application
        request.machineHash = machine
        return try await harness.metadata.enroll(token: harness.enrollmentToken, request: request)
    }

    /// A device that a call may do away with, on a machine of its own: on another device's it would be a notice.
    func anotherDevice() async throws -> DeviceRow {
        let device = try await Self.enroll(harness, "for one call", machine: UUID().uuidString)
        return try #require(try await harness.metadata.device(device.deviceID, organization: nil))
    }

    /// The id of the organization's newest notice.
    func notice() async throws -> Int64 {
        let page = try await NoticeService(metadata: harness.metadata).page(
            organization: "default", below: nil, limit: 1)
        return try #require(page.rows.first).id
    }

    var tomorrow: String { Timestamp.text(harness.clock.now() + 86_400_000_000) }

    /// Two requests, because one has at most one part of a stream.
    private static var records: [Data] {
        let epoch = EpochID.random()
        var status = ChainBuilder(epoch: epoch, stream: .status)
        var events = ChainBuilder(epoch: epoch, stream: .event)
        var samples = ChainBuilder(epoch: epoch, stream: .sample)
        var beacon = WireBeacon()
        beacon.userEmail = "\(marker)@example.com"
        var measurement = WireMeasurement()
        (measurement.name, measurement.value.integer) = ("\(marker).sales", 7)
        // One of a common name, too: what is asked of it is the same for all organizations.
        var sales = measurement
        (sales.name, sales.attributes) = ("till.sales", ["shop": marker])
        var sample = WireCustomSample()
        sample.measurements = [measurement, sales]
        var position = WireGPSSample()
        (position.fix, position.location.latitude) = (3, latitude)
        let first = [
            status.part(kind: .beacon, bodies: [beacon.encoded]), events.events(["\(marker) event"]),
            samples.part(kind: .sampleCustom, module: "till", bodies: [sample.encoded]),
        ]
        let second = [samples.part(kind: .sampleGps, module: "gps", bodies: [position.encoded])]
        return [first.request, second.request]
    }

    func send(_ request: RouteRequest, as caller: Caller) async throws -> TestResponse {
        try await client.send(
            request.method, request.path, bearer: bearers[caller], headers: request.headers, body: request.body)
    }
}

/// A request of one route, good in everything but who sends it.
struct RouteRequest: Sendable {
    var method: HTTPRequest.Method
    var path: String
    var headers: HTTPFields = [:]
    var body: Data?

    init(_ method: HTTPRequest.Method, _ path: String, json: String) {
        (self.method, self.path, headers, body) = (method, path, RouteScene.json, Data(json.utf8))
    }

    init(_ method: HTTPRequest.Method, _ path: String, _ contentType: String? = nil, body: Data? = nil) {
        (self.method, self.path, self.body) = (method, path, body)
        if let contentType { headers[.contentType] = contentType }
    }
}

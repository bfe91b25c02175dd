import Collector
import CollectorAPI
import Console
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import NIOCore
import Registry
import SQLiteRecordStore
import SwiftProtobuf
import TestKit
import Testing
import WireModel

/// Devices that say numbers at the edges of what 64 bits and floating point hold, in every field of every kind of
/// record, and a walk over everything that shows or sums them. A sum or a conversion that traps ends the run of all
/// tests.
@Suite("Extreme numbers", .timeLimit(.minutes(20))) struct ExtremeNumbersTests {
    /// Records of a kind from each device.
    private static let recordsPerKind = 12
    /// Addresses of one form that are read: a form is a path without its ids, and the names in its query.
    private static let addressesPerForm = 2

    private struct Scene: Sendable {
        let data: KeptData
        let client: any TestClientProtocol
        let routes: [Route]
        let pages: [String]
        let administrator: String
        let devices: [EnrollResult]
    }

    private static func play(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let data = try await KeptData(days: 1, devices: 1)
        let (metadata, _) = try MetadataService.open(directory: data.path, clock: data.clock, logger: KeptData.logger)
        let administrator = try await metadata.createPersonToken(name: "ann", role: .administrator, organization: nil)
        let enrollment = try await metadata.createEnrollmentToken(organization: "default")
        let store = try data.openStore()
        let archive = try LogArchive.open(metadata: metadata, logger: KeptData.logger)
        let console = Console(assets: try ConsoleRouterTests.assets.get(), version: "1.2.3")
        let clock = data.clock
        let server = CollectorServer(
            store: store, metadata: metadata, archive: archive, notices: NoticeService(metadata: metadata),
            settings: CollectorServer.Settings(port: 0), console: console, logger: KeptData.logger,
            clock: { clock.now() })
        let result: Result<Void, any Error>
        do {
            try await server.application().test(.router) { client in
                var devices: [EnrollResult] = []
                for (seed, number) in ExtremeNumber.all.enumerated() {
                    devices.append(
                        try await Self.device(
                            saying: number, seed: UInt64(seed), token: enrollment.token, metadata, client))
                }
                try await body(
                    Scene(
                        data: data, client: client, routes: server.responder.routes, pages: console.paths,
                        administrator: administrator.token, devices: devices))
            }
            result = .success(())
        } catch { result = .failure(error) }
        archive.shutDown()
        await store.shutDown()
        await metadata.close()
        try result.get()
    }

    // MARK: - What devices say

    private static func device(
        saying number: ExtremeNumber, seed: UInt64, token: String, _ metadata: MetadataService,
        _ client: any TestClientProtocol
    ) async throws -> EnrollResult {
        var filler = ExtremeFiller(number, seed: seed)
        var request: WireEnrollRequest = filler.message()
        request.deviceID = Data()
        request.previousCredential = ""
        request.certificateSigningRequest = Data()
        request.requestID = Data()
        request.machineHash = "\(seed)"
        let device = try await metadata.enroll(token: token, request: request)
        let epoch = EpochID.random()
        var chains = StreamName.allCases.map { ChainBuilder(epoch: epoch, stream: $0) }
        for kind in WireRecordKind.allCases where kind != .unspecified {
            let bodies = (0..<recordsPerKind).map { _ in Self.body(of: kind, &filler) }
            let stream = Self.stream(of: kind)
            // Half of the records say an impossible time, too.
            for (time, bodies) in [
                (Harness.now, bodies.prefix(recordsPerKind / 2)),
                (Int64(bitPattern: number.integer), bodies.suffix(recordsPerKind / 2)),
            ] {
                let part = chains[Int(stream.rawValue) - 1].part(
                    kind: kind, module: stream == .sample ? "till" : "", time: time, bodies: Array(bodies))
                var batch = WireBatchRequest()
                batch.parts = [part.wire]
                batch.profileRevision = number.integer
                batch.expectedBeaconSeconds = UInt32(truncatingIfNeeded: number.integer)
                // Totals that do not fit the part may be refused; then it comes with honest ones, as it must be stored.
                batch.parts[0].totals = filler.message()
                let first = try await client.post(
                    WireNames.batchesPath, bearer: device.credential, batch.encoded)
                #expect(first.status.code < 500, "\(kind): \(String(buffer: first.body))")
                batch.parts = [part.wire]
                let second = try await client.post(
                    WireNames.batchesPath, bearer: device.credential, batch.encoded)
                #expect(second.status == .ok, "\(kind): \(String(buffer: second.body))")
                let answer = try second.message(WireBatchAnswer.self)
                // Where the first ones were accepted, too, it is stored already.
                #expect(answer.parts.count == 1, "\(kind)")
                for part in answer.parts { #expect([.stored, .already].contains(part.outcome), "\(kind)") }
            }
        }
        try await Self.sendLogs(number, &filler, device, client)
        return device
    }

    private static func stream(of kind: WireRecordKind) -> StreamName {
        switch kind {
        case .beacon, .commandResult: .status
        case .event: .event
        default: .sample
        }
    }

    private static func body(of kind: WireRecordKind, _ filler: inout ExtremeFiller) -> Data {
        func filled<M: Message>(_ type: M.Type) -> Data { filler.message(type).encoded }
        return kind.body.map { filled($0) } ?? Data()
    }

    /// An upload whose manifest is full of the number, and one that is whole but for what its chunk says of itself.
    private static func sendLogs(
        _ number: ExtremeNumber, _ filler: inout ExtremeFiller, _ device: EnrollResult,
        _ client: any TestClientProtocol
    ) async throws {
        func put(_ path: String, _ type: String, _ body: Data) async throws {
            let answer = try await client.send(
                .put, path, bearer: device.credential, headers: [.contentType: type], body: body)
            #expect(answer.status.code < 500, "\(path): \(String(buffer: answer.body))")
        }
        for _ in 0..<recordsPerKind {
            let upload = UploadID.random()
            var manifest: WireUploadManifest = filler.message()
            manifest.uploadID = upload.data
            try await put("\(WireNames.uploadsPath)/\(upload)", WireNames.protobuf, manifest.encoded)
        }
        var book = LogBook()
        book.application = "com.example.till"
        try book.add(segment: 1, positions: 1...20, from: Harness.now)
        let upload = UploadID.random()
        var manifest = book.manifest(upload)
        manifest.created = Int64(bitPattern: number.integer)
        for index in manifest.chunks.indices {
            manifest.chunks[index].firstTime = Int64(bitPattern: number.integer)
            manifest.chunks[index].lastTime = Int64(bitPattern: number.integer)
            manifest.chunks[index].levelLines = Array(repeating: number.integer, count: 4)
        }
        try await put("\(WireNames.uploadsPath)/\(upload)", WireNames.protobuf, manifest.encoded)
        try await put("\(WireNames.uploadsPath)/\(upload)/chunks/1", WireNames.gzip, book.chunks[0].gzip)
    }

    // MARK: - The walk

    @Test func `Every page, table and program shows them`() async throws {
        try await Self.play { scene in
            let signedIn = try await scene.client.send(
                .post, "/sign-in", headers: [.contentType: WireNames.form],
                body: Data("token=\(scene.administrator)&next=/".utf8))
            let cookie = String(try #require(signedIn.headers[.setCookie]).prefix { $0 != ";" })
            var next: [String] = []
            for device in scene.devices {
                next += scene.pages.map {
                    $0.replacing("{device}", with: "\(device.deviceID)").replacing("{organization}", with: "default")
                        .replacing("{job}", with: "none")
                }
            }
            next.append("/devices/\(scene.devices[0].deviceID)?range=1h")
            var visited: Set<String> = []
            var forms: [String: Int] = [:]
            while let address = next.popLast() {
                guard visited.insert(address).inserted else { continue }
                let form = Self.form(of: address)
                forms[form, default: 0] += 1
                // All devices' own pages are read, of others a few of each form.
                let most = form.contains("?") ? Self.addressesPerForm : scene.devices.count
                guard forms[form, default: 0] <= most else { continue }
                let response = try await scene.client.send(.get, address, headers: [.cookie: cookie])
                let text = String(buffer: response.body)
                #expect(response.status.code < 500, "\(address): \(text.suffix(400))")
                let isPage = response.headers[.contentType]?.hasPrefix("text/html") == true
                if isPage, response.status != .seeOther {
                    #expect(text.contains("</html>"), "\(address) is cut")
                    next += Self.addresses(in: text)
                }
            }
            for page in scene.pages {
                #expect(forms.keys.contains { $0.hasPrefix(page.prefix { $0 != "{" }) }, "\(page)")
            }
            #expect(forms.keys.contains { $0.contains("format") }, "no CSV was read")
        }
    }

    /// The addresses that a page leads to or asks for, but for those that end the session or never end.
    private static func addresses(in html: String) -> [String] {
        html.matches(of: #/"(\/[a-z][^"\s<>]*)"/#).map { String($0.output.1).replacing("&amp;", with: "&") }
            .map { String($0.prefix { $0 != "#" }) }
            .filter { !$0.hasPrefix("/assets/") && !$0.hasPrefix("/live") && !$0.hasPrefix("/sign-") }
    }

    private static func form(of address: String) -> String {
        let parts = address.split(separator: "?", maxSplits: 1)
        let path = parts[0].replacing(#/[0-9a-f]{8}-[0-9a-f-]{27}/#, with: "{device}")
        guard parts.count > 1 else { return String(path) }
        let names = parts[1].split(separator: "&").map { $0.prefix { $0 != "=" } }
        return path + "?" + Set(names).sorted().joined(separator: "&")
    }

    @Test func `Every route answers with them and to them`() async throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../Schemas/api/openapi.yaml")
        let document = try String(contentsOf: path, encoding: .utf8)
        // All parameters of all routes: an unknown one is refused, which is an answer, too.
        let parameters = Set(
            document.matches(of: #/name: ([A-Za-z]+)(?:,\s*|\s*\n\s*)in: query/#).map { String($0.output.1) })
        #expect(parameters.count > 30)
        try await Self.play { scene in
            func read(_ path: String) async throws -> Data {
                let response = try await scene.client.send(.get, path, bearer: scene.administrator)
                #expect(response.status.code < 500, "\(path): \(String(buffer: response.body).prefix(400))")
                let data = Data(response.body.readableBytesView)
                if response.status == .ok, response.headers[.contentType]?.hasPrefix(WireNames.json) == true {
                    #expect(throws: Never.self, "\(path)") { try JSONSerialization.jsonObject(with: data) }
                }
                return data
            }
            func addresses(_ route: Route) -> [String] {
                let path = route.path.replacing("{organization}", with: "default").replacing(
                    "{application}", with: "till"
                )
                .replacing("{command}", with: "none").replacing("{job}", with: "none")
                guard path.contains("{device}") else { return [path] }
                return scene.devices.map { path.replacing("{device}", with: "\($0.deviceID)") }
            }
            let readable = scene.routes.filter {
                if case .person = $0.access { $0.method == .get } else { false }
            }
            let numbers =
                ExtremeNumber.all.flatMap { ["\($0.integer)", "\(Int64(bitPattern: $0.integer))", "\($0.real)"] }
                + ["9223372036854775807d", "18446744073709551616", "1e999"]
            var turn = 0
            for route in readable {
                for address in addresses(route) { _ = try await read(address) }
                let address = addresses(route)[0]
                for parameter in parameters.sorted() {
                    // Each parameter gets every number with one route or another.
                    for _ in 0..<2 {
                        _ = try await read("\(address)?\(parameter)=\(numbers[turn % numbers.count])")
                        turn += 1
                    }
                }
            }
            let catalog = try await read("/api/v1/metrics-catalog")
            let metrics = Set(
                String(decoding: catalog, as: UTF8.self).matches(of: #/"metric":\s*"([^"]+)"/#).map {
                    String($0.output.1)
                }
            ).union(["till.sales"])
            #expect(metrics.count > 20)
            for metric in metrics.sorted() {
                let query = "?metric=\(metric)&test=true"
                for path in ["latest", "distribution", "series"] {
                    _ = try await read("/api/v1/metrics/\(path)\(query)")
                }
                for device in scene.devices {
                    _ = try await read("/api/v1/devices/\(device.deviceID)/samples/series\(query)")
                }
            }
        }
    }

    @Test func `The programs on the data show them`() async throws {
        try await Self.play { scene in
            for arguments in [
                ["export"], ["verify"], ["balance"], ["retention", "status"], ["token", "list"],
                ["organization", "list"],
            ] {
                let run = try await ProgramRun.of(
                    arguments + ["--data", scene.data.path], program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
                #expect([0, 1].contains(run.status), "\(arguments): \(run.status) \(run.errors)")
                #expect(!run.output.isEmpty, "\(arguments)")
            }
        }
    }
}

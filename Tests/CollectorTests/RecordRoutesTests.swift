import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import StoreTestKit
import Testing
import WireModel

@testable import Collector

@Suite("/api/v1/records")
struct RecordRoutesTests {
    private static let path = "/api/v1/records?stream="

    /// A device with a beacon, the result of a command, an event and samples of two modules.
    private func device(_ harness: Harness, _ organization: String = "default", test: Bool = false) async throws
        -> DeviceID
    {
        let device = try await harness.enrolledDevice(organization, test: test)
        var (status, events, samples) = (
            ChainBuilder(stream: .status), ChainBuilder(stream: .event), ChainBuilder(stream: .sample)
        )
        var beacon = WireBeacon()
        beacon.pushToken.token = "secret-push-token"
        var result = WireCommandResult()
        result.detail = "of a command"
        var system = WireSystemSample()
        system.memory.free = 7
        for part in [
            status.part(kind: .beacon, bodies: [beacon.encoded]),
            status.part(kind: .commandResult, bodies: [result.encoded]), events.events(["sold"]),
            samples.part(kind: .sampleSystem, module: "system", bodies: [system.encoded]),
            samples.part(kind: .sampleCustom, module: "till", bodies: [WireCustomSample().encoded]),
        ] {
            _ = await harness.store.append([part], from: device.id, receivedAt: Harness.now)
        }
        return device.id
    }

    @Test func `Records of a stream name their kind and device, and results of commands are not among them`()
        async throws
    {
        let harness = Harness()
        let device = try await device(harness)
        try await harness.route { client in
            func kinds(_ query: String) async throws -> [String] {
                let page = try await client.json(Self.path + query, bearer: "viewer-default")
                for item in page.objects("items") {
                    #expect(item.text("device") == "\(device)" && item.text("deviceName") == "kiosk-1")
                }
                return page.objects("items").compactMap { $0.text("kind") }
            }
            #expect(try await kinds("status") == ["beacon"])
            #expect(try await kinds("event") == ["event"])
            #expect(try await kinds("sample") == ["sample-custom", "sample-system"])
            #expect(try await kinds("sample&module=system") == ["sample-system"])
            #expect(try await kinds("sample&kind=sample-custom") == ["sample-custom"])
            #expect(try await kinds("sample&application=com.example") == [])
            let beacon = try await client.send(.get, Self.path + "status", bearer: "viewer-default")
            #expect(!String(buffer: beacon.body).contains("secret-push-token"))
            let metrics = try await client.json(
                Self.path + "sample&module=system&metrics=true", bearer: "viewer-default")
            #expect(metrics.objects("items").first?.objects("metrics").isEmpty == false)
        }
    }

    @Test func `Some devices are chosen by id, and those of others are not there`() async throws {
        let harness = Harness()
        let (first, second) = (try await device(harness), try await device(harness))
        let (stranger, test) = (try await device(harness, "other"), try await device(harness, test: true))
        _ = try await device(harness)
        try await harness.route { client in
            func devices(_ query: String, as bearer: String = "viewer-default") async throws -> Set<String> {
                let page = try await client.json(Self.path + "event\(query)", bearer: bearer)
                return Set(page.objects("items").compactMap { $0.text("device") })
            }
            #expect(try await devices("&device=\(first)&device=\(second)") == ["\(first)", "\(second)"])
            #expect(try await devices("&device=\(first)") == ["\(first)"])
            #expect(try await devices("").count == 3)
            #expect(try await devices("&test=true").count == 4)
            #expect(try await devices("&device=\(test)").isEmpty)
            #expect(try await devices("&device=\(test)&test=true") == ["\(test)"])
            #expect(try await devices("", as: "administrator-all").count == 4)
            #expect(try await devices("&organization=other", as: "administrator-all") == ["\(stranger)"])
            let hidden = try await client.send(
                .get, Self.path + "event&device=\(stranger)", bearer: "viewer-default")
            #expect(hidden.status == .notFound)
        }
    }

    @Test func `A page that is asked for again is the same, though records came meanwhile`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let (first, later) = (events.events((1...5).map { "\($0)" }), events.events(["6", "7"]))
        _ = await harness.store.append([first], from: device.id, receivedAt: Harness.now)
        try await harness.route { client in
            func page(_ cursor: String?) async throws -> (names: [String], next: String?) {
                let path = Self.path + "event&limit=2" + (cursor.map { "&cursor=\($0)" } ?? "")
                let page = try await client.json(path, bearer: "viewer-default")
                return (page.objects("items").compactMap { $0.object("event")?.text("name") }, page.text("next"))
            }
            let first = try await page(nil)
            #expect(first.names == ["5", "4"])
            let second = try await page(first.next)
            _ = await harness.store.append([later], from: device.id, receivedAt: Harness.now)
            let again = try await page(first.next)
            #expect(again.names == second.names && again.names == ["3", "2"])
            #expect(try await page(second.next).names == ["1"])
        }
    }

    @Test(arguments: [
        ("?kind=event", "stream"), ("?stream=logs", "stream"), ("?stream=event&kind=beacon", "kind"),
        ("?stream=status&kind=command-result", "kind"), ("?stream=event&kind=nonsense", "kind"),
        ("?stream=event&device=x", "device"), ("?stream=event&cursor=x", "cursor"),
    ])
    func `What cannot be meant is refused by name`(query: String, parameter: String) async throws {
        let harness = Harness()
        try await harness.route { client in
            let answer = try await client.json(
                "/api/v1/records\(query)", bearer: "viewer-default", status: .badRequest)
            #expect(answer.text("detail")?.contains(parameter) == true, "\(answer.text("detail") ?? "")")
        }
    }

    @Test func `A list of too many devices is refused`() async throws {
        let harness = Harness()
        let many = (0..<51).map { _ in "&device=\(DeviceID.random())" }.joined()
        try await harness.route { client in
            let answer = try await client.json(
                Self.path + "event\(many)", bearer: "viewer-default", status: .badRequest)
            #expect(answer.text("detail")?.contains("51 times") == true)
        }
    }
}

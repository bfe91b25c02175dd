import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import StoreTestKit
import Testing

@testable import Collector

/// Metrics in OTLP's JSON, and a collector that takes them.
struct OTLPScene {
    let clock = SteppedClock()
    let harness: Harness
    private let token: String

    /// - Parameter names: the metrics of `/metrics/devices`.
    init(_ names: [String] = [], series: Int = 1000) async throws {
        let choice = try DeviceMetricChoice(names)
        let clock = clock
        harness = Harness(clock: { clock.now() }) { settings in
            settings.deviceMetrics.choice = choice
            settings.deviceMetrics.maximumSeries = series
        }
        token = try await harness.metadata.createOTLPToken(organization: "default").token
    }

    /// One point: times in seconds since 1970, and the members that are its value.
    static func point(start: Int64 = 0, at time: Int64, _ value: String, shop: Int? = nil) -> String {
        let attributes = shop.map { #","attributes":[{"key":"shop","value":{"intValue":"\#($0)"}}]"# } ?? ""
        let times = (start: start * 1_000_000_000, time: time * 1_000_000_000)
        return #"{"startTimeUnixNano":"\#(times.start)","timeUnixNano":"\#(times.time)",\#(value)\#(attributes)}"#
    }

    /// - Parameter kind: as in OTLP's JSON. `more` are its other members.
    static func metric(
        _ name: String, _ kind: String, _ points: [String], more: String = "", unit: String = "By"
    ) -> String {
        #"{"name":"\#(name)","unit":"\#(unit)","\#(kind)":{\#(more)"dataPoints":[\#(points.joined(separator: ","))]}}"#
    }

    static let delta = #""aggregationTemporality":1,"#
    static let cumulative = #""aggregationTemporality":2,"#

    func send(
        _ client: any TestClientProtocol, host: String = "a", service: String = "", instance: String = "",
        scope: String = "", _ metrics: String...
    ) async throws {
        let attributes = [("host.id", host), ("service.name", service), ("service.instance.id", instance)]
            .filter { !$0.1.isEmpty }.map { #"{"key":"\#($0.0)","value":{"stringValue":"\#($0.1)"}}"# }
        let resource = #""resource":{"attributes":[\#(attributes.joined(separator: ","))]}"#
        let scopeMetrics = #"{"scope":{"name":"\#(scope)"},"metrics":[\#(metrics.joined(separator: ","))]}"#
        let body = #"{"resourceMetrics":[{\#(resource),"scopeMetrics":[\#(scopeMetrics)]}]}"#
        let response = try await client.send(
            .post, "/v1/metrics", bearer: token, headers: [.contentType: "application/json"], body: Data(body.utf8))
        #expect(
            response.status == .ok && String(buffer: response.body) == "{}", "\(String(buffer: response.body)) \(body)")
    }

    /// The series of the only device in the two minutes from 600 s on, in steps of a minute.
    func series(
        _ client: any TestClientProtocol, _ name: String, _ aggregates: String, more: String = ""
    ) async throws -> [JSONObject] {
        let devices = try await client.json("/api/v1/devices?state=otlp", bearer: "viewer-default")
        let id = try #require(devices.objects("items").first?.text("id"))
        return try await client.json(
            "/api/v1/devices/\(id)/samples/series?metric=\(name)&from=1970-01-01T00:10:00Z&to=1970-01-01T00:12:00Z"
                + "&step=60&aggregate=\(aggregates)\(more)", bearer: "viewer-default"
        ).objects("series")
    }

    static func values(_ series: JSONObject?, _ aggregate: String) throws -> [Double?] {
        try #require(series?.object("values")?.fields[aggregate] as? [Any]).map { $0 as? Double }
    }

    /// Both bounds of a quantile in each bucket.
    static func bounds(_ series: JSONObject?, _ aggregate: String) throws -> [[Double?]?] {
        try #require(series?.object("quantileBounds")?.fields[aggregate] as? [Any]).map { bounds in
            (bounds as? [Any])?.map { $0 as? Double }
        }
    }
}

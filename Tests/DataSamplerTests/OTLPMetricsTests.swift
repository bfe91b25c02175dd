import Foundation
import Intake
import OTLP
import Privacy
import RecordQueue
import RecordStore
import StoreTestKit
import SwiftProtobuf
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// Data points of OTLP in the queue of a whole device.
@Suite(.timeLimit(.minutes(5))) struct OTLPMetricsTests {
    private static func attribute(_ key: String, _ value: OTLPAnyValue.OneOf_Value) -> OTLPKeyValue {
        var attribute = OTLPKeyValue()
        attribute.key = key
        attribute.value.value = value
        return attribute
    }

    private static func record(_ value: Int64) throws -> OTLPMetricRecord {
        var point = OTLPNumberPoint()
        point.timeUnixNano = 1_795_305_088_000_000_000
        point.asInt = value
        point.attributes = [attribute("shop", .stringValue("berlin")), attribute("n", .intValue(7))]
        var exemplar = OTLPExemplar()
        exemplar.asInt = 1
        exemplar.filteredAttributes = [attribute("user", .stringValue("u"))]
        point.exemplars = [exemplar]
        var metric = OTLPMetric()
        metric.name = "shop.stock"
        metric.gauge.dataPoints = [point]
        var metrics = OTLPScopeMetrics()
        metrics.metrics = [metric]
        var scope = OTLPScopeMetrics()
        scope.scope.name = "till"
        scope.scope.attributes = [attribute("kind", .stringValue("k"))]
        var context = OTLPResourceMetrics()
        context.resource.attributes = [attribute("service.name", .stringValue("shop"))]
        context.scopeMetrics = [scope]
        return OTLPMetricRecord(
            context: try context.serializedBytes(), body: try metrics.serializedBytes(), points: 1,
            service: "till")
    }

    @Test func `Data points are on disk once they are taken, and arrive with their context`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.sampleModules = [.custom] }
        try await sampler.start()
        let core = try sampler.running().core
        let records = try (1...5).map { try Self.record(Int64($0)) }
        #expect(await core.record(records, module: "otlp.shop", of: "shop") == .stored)
        #expect(try await core.queue.status().streams[.sample]?.lastNumber ?? 0 >= 5)
        func arrived() async throws -> [StoredRecord] {
            try await bench.stored(.sample).filter { $0.header.kind == WireRecordKind.otlpMetrics.rawValue }
        }
        try await bench.arrived { try await arrived().count == 5 }
        for (stored, made) in zip(try await arrived(), records) {
            #expect(stored.header.body(of: stored.bytes) == made.body && stored.context == made.context)
            #expect(stored.header.module == "otlp.shop" && stored.header.application == "till")
            #expect(stored.header.bootID == nil || stored.header.timeSinceBoot > 0)
        }
        await sampler.stop()
    }

    @Test func `What may not be recorded is refused for good and counted`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) {
            $0.sampleModules = [.custom]
            $0.disabledModules = ["otlp.shop"]
        }
        try await sampler.start()
        let core = try sampler.running().core
        let record = try Self.record(1)
        let disabled = await core.record([record], module: "otlp.shop", of: "shop")
        #expect(disabled == .refused("the module custom, or otlp.shop of it, is not among the modules of this device"))
        #expect(await core.record([record], module: "otlp.other", of: "other") == .stored)
        var settings = try await sampler.runtimeSettings()
        settings.telemetryDisabled = true
        try await sampler.setRuntimeSettings(settings)
        try await SamplerBench.until {
            if case .refused(let why) = await core.record([record], module: "otlp.other", of: "other") {
                return why.contains("switched off")
            }
            return false
        }
        await sampler.stop()
    }

    @Test(arguments: [PrivacyAction.hash, .drop])
    func `Attributes are of class custom, and figures stay`(action: PrivacyAction) throws {
        let record = try Self.record(3)
        let filter = PrivacyFilter(
            policy: .resolve(local: [.custom: action], profile: nil), key: Data(repeating: 1, count: 32))
        let (body, context) = filter.filtered(record.body, record.context)
        let metrics = try OTLPScopeMetrics(serializedBytes: body)
        let group = try OTLPResourceMetrics(serializedBytes: context)
        let point = try #require(metrics.metrics.first?.gauge.dataPoints.first)
        #expect(metrics.metrics[0].name == "shop.stock" && point.asInt == 3 && point.exemplars.count == 1)
        #expect(group.scopeMetrics[0].scope.name == "till")
        let kept =
            point.attributes + point.exemplars[0].filteredAttributes + group.resource.attributes
            + group.scopeMetrics[0].scope.attributes
        if action == .drop {
            #expect(kept.isEmpty)
        } else {
            #expect(kept.map(\.key) == ["shop", "user", "service.name", "kind"])
            #expect(kept.allSatisfy { $0.value.stringValue.hasPrefix("hash:") })
        }
        let open = PrivacyFilter(policy: .resolve(local: [:], profile: nil), key: Data())
        #expect(open.filtered(record.body, record.context) == (record.body, record.context))
    }
}

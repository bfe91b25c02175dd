import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import WireModel

/// What people and scripts ask. Everything is cut to the caller's organization: another one's device is simply not there.
struct QueryRoutes: Sendable {
    /// Records looked at for one page: a filter that finds nothing gives an empty page with a `next`, not a request without end.
    static let scanBudget = 5000

    let store: any RecordStore
    let registry: any DeviceRegistry

    var routes: [Route] {
        [
            Route(.get, "/api/v1/devices/{device}/beacons", .person(.viewer), handle: beacons),
            Route(.get, "/api/v1/devices/{device}/samples", .person(.viewer), handle: samples),
            Route(.get, "/api/v1/devices/{device}/balance", .person(.viewer), handle: balance),
            Route(.get, "/api/v1/events", .person(.viewer), handle: events),
        ]
    }

    private func balance(_ exchange: Exchange) async throws -> Response {
        _ = try QueryParameters(exchange.request, known: [])
        let device = try await known(exchange)
        let balances: [EpochBalance]
        do throws(StoreError) { balances = try await store.balance(of: device.id) } catch { throw Problem.ofStore(error) }
        return try BalanceReport([(device.id, balances)]).response()
    }

    private func known(_ exchange: Exchange) async throws -> DeviceRow { try await registry.known(exchange) }

    // MARK: Records

    private func beacons(_ exchange: Exchange) async throws -> Response {
        let query = try QueryParameters(exchange.request, known: ["limit", "cursor", "test"])
        return try await page(
            of: [try await known(exchange)], query, RecordFilter(stream: .status, kind: WireRecordKind.beacon.rawValue))
    }

    private func samples(_ exchange: Exchange) async throws -> Response {
        let query = try QueryParameters(exchange.request, known: ["module", "from", "to", "metrics", "limit", "cursor", "test"])
        let filter = RecordFilter(
            stream: .sample, module: query.text("module"), from: try query.time("from"), to: try query.time("to"))
        return try await page(of: [try await known(exchange)], query, filter, withMetrics: try query.flag("metrics"))
    }

    private func events(_ exchange: Exchange) async throws -> Response {
        let query = try QueryParameters(exchange.request, known: ["device", "name", "from", "to", "limit", "cursor", "test"])
        let filter = RecordFilter(
            stream: .event, kind: WireRecordKind.event.rawValue, from: try query.time("from"), to: try query.time("to"),
            eventName: query.text("name"))
        let organization = try exchange.person.organization
        if let id = try query.device("device") {
            guard let device = try await registry.device(id, organization: organization) else {
                throw Problem.noDevice
            }
            return try await page(of: [device], query, filter)
        }
        // Device by device, newest first within each; the cursor says where to go on.
        let limit = try query.limit()
        var collector = RecordCollector(limit: limit, budget: Self.scanBudget, withTest: try query.flag("test"), filter: filter)
        let cursor = try query.cursor()
        if let cursor, let device = try await registry.device(cursor.device, organization: organization),
            let stop = try await collector.collect(device, before: cursor.before, from: store)
        {
            return try collector.page(next: stop).response()
        }
        var after = cursor.map { $0.device.description }
        repeat {
            let devices = try await registry.devices(organization: organization, after: after, limit: 100)
            for device in devices.devices {
                if let stop = try await collector.collect(device, before: nil, from: store) {
                    return try collector.page(next: stop).response()
                }
            }
            after = devices.next
        } while after != nil
        return try collector.page(next: nil).response()
    }

    private func page(
        of devices: [DeviceRow], _ query: QueryParameters, _ filter: RecordFilter, withMetrics: Bool = false
    ) async throws -> Response {
        var collector = RecordCollector(
            limit: try query.limit(), budget: Self.scanBudget, withTest: try query.flag("test"), withMetrics: withMetrics, filter: filter)
        let cursor = try query.cursor()
        for device in devices {
            if let cursor, cursor.device != device.id { throw Problem.invalidParameter("cursor", "is of another list.") }
            if let stop = try await collector.collect(device, before: cursor?.before, from: store) {
                return try collector.page(next: stop).response()
            }
        }
        return try collector.page(next: nil).response()
    }
}

extension Encodable {
    func response(status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Response(
            status: status, headers: [.contentType: WireNames.json, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: try encoder.encode(self))))
    }
}

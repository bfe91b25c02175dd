import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import WireModel

/// Samples as series with steps, and what metrics there are.
struct SeriesRoutes: Sendable {
    let store: any RecordStore
    let registry: any DeviceRegistry

    /// Numbers in one answer.
    private static let maximumValues = 1_100_000

    var routes: [Route] {
        [
            Route(.get, "/api/v1/devices/{device}/samples/series", .person(.viewer), handle: series),
            Route(.get, "/api/v1/metrics-catalog", .person(.viewer), handle: catalog),
        ]
    }

    func series(_ exchange: Exchange) async throws -> Response {
        let parameters = try QueryParameters(
            exchange.request, known: SeriesQuery.parameters, repeated: SeriesQuery.repeatedParameters)
        let device = try await registry.known(exchange)
        let query = try SeriesQuery(parameters, now: exchange.now)
        let accumulator = try await accumulate(query, of: device)
        let values = accumulator.series.count * query.window.buckets * query.aggregates.count
        guard values <= Self.maximumValues else {
            throw Problem.tooMuch(
                "\(accumulator.series.count) series of \(query.window.buckets) buckets are \(values) values; at most \(Self.maximumValues) "
                    + "are given. Ask for a longer `step`, less time, or one `attribute`.")
        }
        return try SeriesView(accumulator, query.aggregates, device: device.id).response()
            .naming(missing: store.unreadableFiles(of: .sample))
    }

    private func accumulate(_ query: SeriesQuery, of device: DeviceRow) async throws -> SeriesAccumulator {
        var accumulator = SeriesAccumulator(window: query.window, attributes: query.attributes)
        guard query.withTest || !device.test else { return accumulator }
        let selection = query.selection
        do {
            try await RecordPages(store: store, query: query.records(of: device.id, selection)).visit { record in
                guard let kind = WireRecordKind(rawValue: record.header.kind),
                    // A body of another form than its kind says is shown in the list of samples; it has no values.
                    let found = try? selection.read(kind: kind, body: record.header.body(of: record.bytes))
                else { return }
                let moment = SampleMoment(record.header, interval: found.intervalMicroseconds)
                for point in found.points { try accumulator.add(point, at: moment) }
            }
        } catch let overflow as SeriesAccumulator.Overflow {
            switch overflow {
            case .series(let limit):
                throw Problem.tooMuch("There are more than \(limit) series. Ask for fewer metrics, or for one `attribute`.")
            case .buckets(let limit):
                throw Problem.tooMuch("More than \(limit) buckets hold values. Ask for a longer `step`, less time, or one `attribute`.")
            }
        }
        return accumulator
    }

    private func catalog(_ exchange: Exchange) async throws -> Response {
        _ = try QueryParameters(exchange.request, known: [])
        return try Page(items: CatalogView.all, next: nil).response()
    }
}

import FoundationEssentials
import HTTPConnection
import NIOCore
import NIOPosix
import Synchronization
import WireModel

/// A program on this machine that shows its metrics as Prometheus text, scraped once for each sample.
///
/// Each scrape has a connection of its own, so that nothing of it is there between two samples. Time and bytes of a
/// scrape are bounded. One that failed gives no values, and says so by `ws1.metrics.up` 0 and in `status`.
///
/// Against it: a kept connection would save the handshake. It would be kept by both sides for a minute to save a tenth
/// of a millisecond, and break whenever the program restarts.
package final class PrometheusSource: MetricSource {
    package struct Configuration: Sendable {
        var url: EndpointURL
        /// The URL without its path, which belongs to the request.
        var server: EndpointURL
        /// How long a scrape may take.
        package var limit: Duration
        /// The most series of a sample.
        package var series: Int

        /// - Parameter url: `http://127.0.0.1:9100/metrics`; without a path that of `/metrics`.
        /// - Throws: what is possible.
        package init(url: String, limit: Duration, series: Int) throws(MetricAddressError) {
            do throws(ConnectionSettingsError) {
                self.url = try EndpointURL(server: url, name: "URL")
                server = try EndpointURL(server: String("\(self.url)".dropLast(self.url.prefix.count)), name: "URL")
            } catch {
                throw MetricAddressError(error.message)
            }
            guard self.url.scheme == .http, self.url.isLoopback else {
                throw MetricAddressError(
                    "it must be http:// to a program on this machine, such as http://127.0.0.1:9100/metrics")
            }
            self.limit = limit
            self.series = series
        }
    }

    /// Bytes that an answer may have.
    static let maximumBytes = 4 << 20
    private static let accepted = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5"

    private let configuration: Configuration
    private let tally = Mutex(MetricTally())

    package init(_ configuration: Configuration) { self.configuration = configuration }

    package var report: MetricSourceReport { tally.withLock { $0.report } }

    package func begin() {}

    package func end() {}

    package func collect() async -> [MetricPoint] {
        var text: [UInt8] = []
        var failure: String?
        do throws(MetricAddressError) { text = try await scrape() } catch { failure = error.message }
        var table = SeriesTable<MetricPoint>(limit: configuration.series)
        return tally.withLock { tally in
            PrometheusParser.parse(text) { result in
                switch result {
                case .success(let sample):
                    let point = MetricPoint(
                        sample.name, unit: sample.unit, attributes: sample.attributes, .number(sample.value))
                    if !table.update(SeriesKey(point.name, point.attributes), initial: point, { $0 = point }) {
                        tally.refuse()
                    }
                case .failure(let objection): tally.invalid("a line cannot be taken in: \(objection.text)")
                }
            }
            return table.values.values
                + tally.finish(series: table.count, limit: configuration.series, failure: failure)
        }
    }

    private func scrape() async throws(MetricAddressError) -> [UInt8] {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let settings = ConnectionSettings(collector: configuration.server)
        let result: Result<TransportResponse, MetricAddressError>
        do {
            let connection = HTTPConnection(settings, try settings.clientConfiguration(), on: group)
            do {
                let request = TransportRequest(
                    method: .get, path: configuration.url.prefix.isEmpty ? "/metrics" : configuration.url.prefix,
                    headers: [("accept", Self.accepted)], timeout: configuration.limit,
                    maximumResponseBytes: Self.maximumBytes)
                result = .success(try await connection.send(request))
            } catch {
                result = .failure(MetricAddressError("\(configuration.url): \(error.message)"))
            }
            await connection.shutdown()
        } catch {
            result = .failure(MetricAddressError("\(configuration.url): \(error)"))
        }
        // Fails only where it was shut down before.
        try? await group.shutdownGracefully()
        let response = try result.get()
        guard response.status == 200 else {
            throw MetricAddressError(
                "\(configuration.url) answers with the status \(response.status), not with metrics")
        }
        return Array(response.body)
    }
}

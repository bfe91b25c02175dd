import CoreMetrics
import HTTPTypes
import Metrics

/// What is counted of one route. A route that nobody calls has no series. Safe from any thread.
struct RequestMetrics: Sendable {
    private let answers: MetricSeries<Int, Counter>
    private let times: MetricSeries<Int, Timer>

    init(_ route: String, _ method: HTTPRequest.Method, _ factory: any MetricsFactory) {
        let dimensions = [("method", method.rawValue), ("route", route)]
        answers = MetricSeries {
            Counter(label: "ws1_http_requests", dimensions: [("code", "\($0)")] + dimensions, factory: factory)
        }
        times = MetricSeries { _ in Timer(label: "ws1_http_request_duration", dimensions: dimensions, factory: factory) }
    }

    func answered(_ status: Int, after duration: Duration) {
        answers[status].increment()
        times[0].record(duration: duration)
    }
}

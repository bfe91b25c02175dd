import Testing

@testable import Collector

@Suite("Prometheus' formats, and which one a reader gets")
struct DeviceMetricFormatTests {
    @Test(arguments: [
        ("", DeviceMetricText.Format.text), ("*/*", .text), ("text/plain", .text), ("application/json", .text),
        ("text/plain;version=0.0.4;q=0.5, */*;q=0.1", .text),
        // What Prometheus itself sends.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
        ),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
        ("application/openmetrics-text", .openMetrics), ("APPLICATION/OpenMetrics-Text;Version=1.0.0", .openMetrics),
        ("application/openmetrics-text;version=0.0.1", .text),
        ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", .text),
        ("application/openmetrics-text;q=0", .text), ("application/openmetrics-text;q=nonsense", .text),
        ("application/openmetrics-text;q=0.2, text/plain;q=0.3", .text),
        ("application/openmetrics-text;q=0.3, text/plain;q=0.3", .openMetrics), (",;,", .text),
    ])
    func `The reader's weights decide`(accept: String, format: DeviceMetricText.Format) {
        #expect(DeviceMetricText.Format(accept: accept) == format)
    }
}

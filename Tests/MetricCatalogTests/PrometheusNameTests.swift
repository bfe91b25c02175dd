import Testing

@testable import MetricCatalog

@Suite("Names in Prometheus")
struct PrometheusNameTests {
    private static func name(_ name: String, _ unit: String, _ kind: MetricDefinition.Kind) -> PrometheusName? {
        PrometheusName(MetricDefinition(name: name, unit: unit, kind: kind, description: ""))
    }

    @Test(arguments: [
        (
            "system.memory.usage", "By", MetricDefinition.Kind.upDownCounter, "system_memory_usage_bytes",
            String?("bytes")
        ),
        ("system.cpu.utilization", "1", .gauge, "system_cpu_utilization_ratio", "ratio"),
        ("a.ratio.of.it", "1", .gauge, "a_of_it_ratio", "ratio"),
        ("system.disk.io", "By", .cumulativeCounter, "system_disk_io_bytes_total", "bytes"),
        ("share.of.all", "1", .cumulativeCounter, "share_of_all_total", nil),
        ("share.of.all", "1", .upDownCounter, "share_of_all", nil),
        ("ws1.network.total.io", "By", .cumulativeCounter, "ws1_network_io_bytes_total", "bytes"),
        ("system.network.packet.count", "{packet}", .cumulativeCounter, "system_network_packet_count_total", nil),
        ("hw.temperature", "Cel", .gauge, "hw_temperature_celsius", "celsius"),
        (
            "hw.network.bandwidth.limit", "By/s", .upDownCounter, "hw_network_bandwidth_limit_bytes_per_second",
            "bytes_per_second"
        ),
        ("requests.rate", "{request}/min", .gauge, "requests_rate_per_minute", "per_minute"),
        ("wait.seconds.left", "s", .gauge, "wait_seconds_left", nil),
        ("wait.seconds", "s", .gauge, "wait_seconds", "seconds"),
        ("ws1.wlan.signal", "dB{mW}", .gauge, "ws1_wlan_signal_decibels", "decibels"),
        ("link", "bit/s", .gauge, "link_bit_per_second", "bit_per_second"),
        ("signal", "dBm", .gauge, "signal_dBm", "dBm"),
        ("signal", "{dBm}", .gauge, "signal", nil),
        ("3com.cards--free", "{card}", .gauge, "_3com_cards_free", nil),
        ("größe", "", .gauge, "gr_e", nil),
        ("..", "", .gauge, "metric", nil),
        ("total", "", .cumulativeCounter, "metric_total", nil),
        ("odd", "{", .gauge, "odd", nil),
        ("odd", "/", .gauge, "odd", nil),
    ])
    func `A name is converted as OpenTelemetry says`(
        name: String, unit: String, kind: MetricDefinition.Kind, sample: String, suffix: String?
    ) {
        let found = Self.name(name, unit, kind)
        #expect(found?.sample == sample)
        #expect(found?.unit == suffix)
        #expect(found?.family == (kind == .cumulativeCounter ? String(sample.dropLast("_total".count)) : sample))
    }

    @Test func `A histogram has the names of its samples for itself`() throws {
        let histogram = try #require(Self.name("request.duration", "s", .cumulativeHistogram))
        #expect(histogram.family == "request_duration_seconds" && histogram.kind == .histogram)
        #expect(
            histogram.taken == [
                "request_duration_seconds", "request_duration_seconds_bucket", "request_duration_seconds_sum",
                "request_duration_seconds_count",
            ])
        #expect(Self.name("poll", "1", .summary)?.taken == ["poll", "poll_sum", "poll_count"])
        #expect(Self.name("request.duration", "s", .deltaHistogram) == nil)
    }

    @Test func `An increase has no name, because Prometheus would sum up only what it scraped`() {
        #expect(Self.name("system.interrupts", "{interrupt}", .deltaCounter) == nil)
    }

    @Test(arguments: [
        ("cpu.mode", "cpu_mode"), ("2nd", "key_2nd"), ("__name__", "name"), ("", "attribute"), ("é", "attribute"),
    ])
    func `The name of an attribute becomes the name of a label`(attribute: String, label: String) {
        #expect(PrometheusName.label(attribute) == label)
    }

    @Test func `No two metrics of the catalog have one name in Prometheus`() {
        let names = MetricCatalog.definitions.values.compactMap(PrometheusName.init)
        #expect(names.count > 50)
        for (family, same) in Dictionary(grouping: names, by: \.family) { #expect(same.count == 1, "\(family)") }
        let samples = Set(names.map(\.sample))
        #expect(samples.count == names.count)
        for name in names {
            #expect(name.sample.wholeMatch(of: #/[a-zA-Z_][a-zA-Z0-9_]*/#) != nil, "\(name.sample)")
            if let unit = name.unit { #expect(name.family.hasSuffix("_\(unit)"), "\(name.family)") }
        }
    }
}

import MetricCatalog
import NIOCore
import WireModel

/// The answer of `/metrics/devices` in one of Prometheus' formats. Pure.
struct DeviceMetricText: Sendable {
    enum Format: Sendable, Equatable {
        /// Text format 0.0.4.
        case text
        /// OpenMetrics 1.0.
        case openMetrics

        var mediaType: String {
            switch self {
            case .text: PrometheusText.mediaType
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }

        /// The format that a reader prefers: OpenMetrics only if it is named, and not with a smaller weight than text.
        /// - Parameter accept: the header field `Accept`; empty for none.
        init(accept: String) {
            var (text, openMetrics): (Double?, Double) = (nil, 0)
            for part in accept.split(separator: ",") {
                var words = part.split(separator: ";").map { word in
                    String(word.filter { $0 != " " && $0 != "\t" }).lowercased()
                }[...]
                guard let type = words.popFirst() else { continue }
                let weight = words.first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
                let version = words.first { $0.hasPrefix("version=") }?.dropFirst("version=".count)
                switch type {
                case "application/openmetrics-text" where version == nil || version == "1.0.0":
                    openMetrics = max(openMetrics, weight)
                case "text/plain": text = max(text ?? 0, weight)
                case "text/*", "*/*": text = text ?? weight
                default: continue
                }
            }
            self = openMetrics > 0 && openMetrics >= text ?? 0 ? .openMetrics : .text
        }
    }

    /// A device whose series are shown.
    struct Device: Sendable {
        /// Its labels in the text format.
        let labels: String
        let metrics: [(metric: DeviceMetricCache.Metric, values: DeviceMetricCache.Values)]

        init(
            _ id: DeviceID, name: String, organization: String,
            _ metrics: [(metric: DeviceMetricCache.Metric, values: DeviceMetricCache.Values)]
        ) {
            labels = """
                device_id="\(id)",device_name="\(PrometheusText.escaped(name))",\
                organization="\(PrometheusText.escaped(organization))"
                """
            self.metrics = metrics
        }
    }

    /// The numbers of one organization.
    struct Count: Sendable, Equatable {
        let organization: String
        var devices = 0
        var series = 0
        var devicesLeftOut = 0
        var seriesLeftOut = 0
        /// Devices without a value that is new enough.
        var devicesWithoutValues = 0
    }

    static let ownLabels: Set<String> = [
        "device_id", "device_name", "organization", "application", "otel_scope_name", "otel_scope_version",
        "service_instance_id",
    ]
    private static let timeName = "ws1_device_metrics_sample_timestamp_seconds"
    private static let devicesName = "ws1_device_metrics_devices"
    private static let seriesName = "ws1_device_metrics_series"
    private static let limitName = "ws1_device_metrics_series_limit"
    /// No metric of a device gets one of these.
    static let ownNames = [timeName, devicesName, seriesName, limitName]

    let format: Format
    let families: [DeviceMetricCache.Family]
    /// By organization and id.
    let devices: [Device]
    let counts: [Count]
    /// Series of one organization.
    let limit: Int

    /// Text of about this size is written at a time.
    private static let pieceBytes = 64 << 10

    /// Writes the answer piece by piece.
    func write(_ send: (ByteBuffer) async throws -> Void) async throws {
        var piece = ByteBuffer()
        for (number, family) in families.enumerated() {
            var isBegun = false
            for device in devices {
                let points = device.points(of: number)
                if points.isEmpty { continue }
                if !isBegun { begin(family.name, help: family.help, in: &piece) }
                isBegun = true
                for point in points { add(point, of: family.name, device, to: &piece) }
                guard piece.readableBytes >= Self.pieceBytes else { continue }
                try await send(piece)
                piece.clear()
            }
        }
        addOwn(to: &piece)
        try await send(piece)
    }

    private func add(
        _ point: DeviceMetricCache.Point, of name: PrometheusName, _ device: Device, to piece: inout ByteBuffer
    ) {
        func add(_ name: String, _ label: String, _ value: Double) {
            piece.writeString("\(name){\(device.labels)\(point.labels)\(label)} \(PrometheusText.number(value))\n")
        }
        if point.parts.isEmpty { add(name.sample, "", point.value) }
        for part in point.parts { add("\(name.family)\(part.suffix)", part.label, part.value) }
    }

    private func begin(_ name: PrometheusName, help: String, in piece: inout ByteBuffer) {
        begin(
            format == .text ? name.sample : name.family, type: name.kind.rawValue, unit: name.unit, help: help,
            in: &piece)
    }

    private func begin(_ name: String, type: String, unit: String?, help: String, in piece: inout ByteBuffer) {
        var help = PrometheusText.escapedHelp(help)
        if format == .openMetrics { help = help.replacing("\"", with: "\\\"") }
        piece.writeString("# HELP \(name) \(help)\n# TYPE \(name) \(type)\n")
        if format == .openMetrics, let unit { piece.writeString("# UNIT \(name) \(unit)\n") }
    }

    /// What the answer says of itself.
    private func addOwn(to piece: inout ByteBuffer) {
        if !devices.isEmpty {
            begin(
                Self.timeName, type: "gauge", unit: "seconds",
                help: "When the newest sample shown of the device was made, by its own clock, in seconds since 1970",
                in: &piece)
        }
        for device in devices {
            guard let time = device.metrics.lazy.map(\.values.time).max() else { continue }
            piece.writeString("\(Self.timeName){\(device.labels)} \(PrometheusText.number(Double(time) / 1_000_000))\n")
        }
        let leftOut = counts.filter { $0.seriesLeftOut > 0 }.map { count in
            """
            \(count.seriesLeftOut) series of \(count.devicesLeftOut) devices of organization \(count.organization) are \
            left out: those of the last devices by id, and what a device has beyond its own limit.
            """
        }
        let remedy = leftOut.isEmpty ? [] : ["Choose fewer metrics, or raise device-metrics-series."]
        if format == .text {
            // A line break in a name would begin a line of another kind.
            for line in leftOut + remedy { piece.writeString("# \(PrometheusText.escapedHelp(line))\n") }
        }
        let note = format == .openMetrics ? (leftOut + remedy).map { " \($0)" }.joined() : ""
        func add(_ name: String, _ count: Count, _ state: String, _ value: Int) {
            let organization = PrometheusText.escaped(count.organization)
            piece.writeString("\(name){organization=\"\(organization)\",state=\"\(state)\"} \(value)\n")
        }
        begin(
            Self.devicesName, type: "gauge", unit: nil,
            help:
                "Devices shown, left out for lack of room (wholly or in part), and without a value that is new enough",
            in: &piece)
        for count in counts {
            add(Self.devicesName, count, "shown", count.devices)
            add(Self.devicesName, count, "left-out", count.devicesLeftOut)
            add(Self.devicesName, count, "without-values", count.devicesWithoutValues)
        }
        begin(
            Self.seriesName, type: "gauge", unit: nil,
            help: "Series of devices that are shown, and left out for lack of room.\(note)", in: &piece)
        for count in counts {
            add(Self.seriesName, count, "shown", count.series)
            add(Self.seriesName, count, "left-out", count.seriesLeftOut)
        }
        begin(
            Self.limitName, type: "gauge", unit: nil, help: "The most series of one organization in an answer",
            in: &piece)
        piece.writeString("\(Self.limitName) \(limit)\n")
        if format == .openMetrics { piece.writeString("# EOF\n") }
    }
}

extension DeviceMetricText.Device {
    /// The device's series of a family, by labels, each once.
    fileprivate func points(of family: Int) -> [DeviceMetricCache.Point] {
        // They are in the order of families.
        var (low, high) = (metrics.startIndex, metrics.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if metrics[middle].metric.family < family { low = middle + 1 } else { high = middle }
        }
        var parts = metrics[low...].lazy.prefix { $0.metric.family == family }.map(\.values.points).makeIterator()
        guard let first = parts.next() else { return [] }
        guard var next = parts.next() else { return first }
        // Several sources have the metric. Labels tell most of them apart; of the same labels the first one is shown.
        var points = Dictionary(first.map { ($0.labels, $0) }) { first, _ in first }
        while true {
            for point in next where points[point.labels] == nil { points[point.labels] = point }
            guard let further = parts.next() else { break }
            next = further
        }
        return points.values.sorted { $0.labels < $1.labels }
    }
}

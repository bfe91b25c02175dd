// Written by Tools/generate-wire from Schemas/otlp. Do not edit.

extension OTLPShape {
    /// The messages that a request can hold. A field's `message` is a place in this list.
    static let all: [OTLPShape] = [
        OTLPShape(
            "ExportLogsServiceRequest",
            [
                Field(1, "resourceLogs", .message(2))
            ]),
        OTLPShape(
            "ExportMetricsServiceRequest",
            [
                Field(1, "resourceMetrics", .message(3))
            ]),
        OTLPShape(
            "ResourceLogs",
            [
                Field(1, "resource", .message(4)),
                Field(2, "scopeLogs", .message(5)),
                Field(3, "schemaUrl", .plain),
            ]),
        OTLPShape(
            "ResourceMetrics",
            [
                Field(1, "resource", .message(4)),
                Field(2, "scopeMetrics", .message(6)),
                Field(3, "schemaUrl", .plain),
            ]),
        OTLPShape(
            "Resource",
            [
                Field(1, "attributes", .message(7)),
                Field(2, "droppedAttributesCount", .plain),
                Field(3, "entityRefs", .message(8)),
            ]),
        OTLPShape(
            "ScopeLogs",
            [
                Field(1, "scope", .message(9)),
                Field(2, "logRecords", .message(10)),
                Field(3, "schemaUrl", .plain),
            ]),
        OTLPShape(
            "ScopeMetrics",
            [
                Field(1, "scope", .message(9)),
                Field(2, "metrics", .message(11)),
                Field(3, "schemaUrl", .plain),
            ]),
        OTLPShape(
            "KeyValue",
            [
                Field(1, "key", .plain),
                Field(2, "value", .message(12)),
                Field(3, "keyStrindex", .plain),
            ]),
        OTLPShape(
            "EntityRef",
            [
                Field(1, "schemaUrl", .plain),
                Field(2, "type", .plain),
                Field(3, "idKeys", .list),
                Field(4, "descriptionKeys", .list),
            ]),
        OTLPShape(
            "InstrumentationScope",
            [
                Field(1, "name", .plain),
                Field(2, "version", .plain),
                Field(3, "attributes", .message(7)),
                Field(4, "droppedAttributesCount", .plain),
            ]),
        OTLPShape(
            "LogRecord",
            [
                Field(1, "timeUnixNano", .plain),
                Field(11, "observedTimeUnixNano", .plain),
                Field(2, "severityNumber", .enumeration),
                Field(3, "severityText", .plain),
                Field(5, "body", .message(12)),
                Field(6, "attributes", .message(7)),
                Field(7, "droppedAttributesCount", .plain),
                Field(8, "flags", .plain),
                Field(9, "traceId", .identifier),
                Field(10, "spanId", .identifier),
                Field(12, "eventName", .plain),
            ]),
        OTLPShape(
            "Metric",
            [
                Field(1, "name", .plain),
                Field(2, "description", .plain),
                Field(3, "unit", .plain),
                Field(5, "gauge", .message(13)),
                Field(7, "sum", .message(14)),
                Field(9, "histogram", .message(15)),
                Field(10, "exponentialHistogram", .message(16)),
                Field(11, "summary", .message(17)),
                Field(12, "metadata", .message(7)),
            ]),
        OTLPShape(
            "AnyValue",
            [
                Field(1, "stringValue", .plain),
                Field(2, "boolValue", .plain),
                Field(3, "intValue", .plain),
                Field(4, "doubleValue", .plain),
                Field(5, "arrayValue", .message(18)),
                Field(6, "kvlistValue", .message(19)),
                Field(7, "bytesValue", .plain),
                Field(8, "stringValueStrindex", .plain),
            ]),
        OTLPShape(
            "Gauge",
            [
                Field(1, "dataPoints", .message(20))
            ]),
        OTLPShape(
            "Sum",
            [
                Field(1, "dataPoints", .message(20)),
                Field(2, "aggregationTemporality", .enumeration),
                Field(3, "isMonotonic", .plain),
            ]),
        OTLPShape(
            "Histogram",
            [
                Field(1, "dataPoints", .message(21)),
                Field(2, "aggregationTemporality", .enumeration),
            ]),
        OTLPShape(
            "ExponentialHistogram",
            [
                Field(1, "dataPoints", .message(22)),
                Field(2, "aggregationTemporality", .enumeration),
            ]),
        OTLPShape(
            "Summary",
            [
                Field(1, "dataPoints", .message(23))
            ]),
        OTLPShape(
            "ArrayValue",
            [
                Field(1, "values", .message(12))
            ]),
        OTLPShape(
            "KeyValueList",
            [
                Field(1, "values", .message(7))
            ]),
        OTLPShape(
            "NumberDataPoint",
            [
                Field(7, "attributes", .message(7)),
                Field(2, "startTimeUnixNano", .plain),
                Field(3, "timeUnixNano", .plain),
                Field(4, "asDouble", .plain),
                Field(6, "asInt", .plain),
                Field(5, "exemplars", .message(24)),
                Field(8, "flags", .plain),
            ]),
        OTLPShape(
            "HistogramDataPoint",
            [
                Field(9, "attributes", .message(7)),
                Field(2, "startTimeUnixNano", .plain),
                Field(3, "timeUnixNano", .plain),
                Field(4, "count", .plain),
                Field(5, "sum", .plain),
                Field(6, "bucketCounts", .list),
                Field(7, "explicitBounds", .list),
                Field(8, "exemplars", .message(24)),
                Field(10, "flags", .plain),
                Field(11, "min", .plain),
                Field(12, "max", .plain),
            ]),
        OTLPShape(
            "ExponentialHistogramDataPoint",
            [
                Field(1, "attributes", .message(7)),
                Field(2, "startTimeUnixNano", .plain),
                Field(3, "timeUnixNano", .plain),
                Field(4, "count", .plain),
                Field(5, "sum", .plain),
                Field(6, "scale", .plain),
                Field(7, "zeroCount", .plain),
                Field(8, "positive", .message(25)),
                Field(9, "negative", .message(25)),
                Field(10, "flags", .plain),
                Field(11, "exemplars", .message(24)),
                Field(12, "min", .plain),
                Field(13, "max", .plain),
                Field(14, "zeroThreshold", .plain),
            ]),
        OTLPShape(
            "SummaryDataPoint",
            [
                Field(7, "attributes", .message(7)),
                Field(2, "startTimeUnixNano", .plain),
                Field(3, "timeUnixNano", .plain),
                Field(4, "count", .plain),
                Field(5, "sum", .plain),
                Field(6, "quantileValues", .message(26)),
                Field(8, "flags", .plain),
            ]),
        OTLPShape(
            "Exemplar",
            [
                Field(7, "filteredAttributes", .message(7)),
                Field(2, "timeUnixNano", .plain),
                Field(3, "asDouble", .plain),
                Field(6, "asInt", .plain),
                Field(4, "spanId", .identifier),
                Field(5, "traceId", .identifier),
            ]),
        OTLPShape(
            "Buckets",
            [
                Field(1, "offset", .plain),
                Field(2, "bucketCounts", .varints),
            ]),
        OTLPShape(
            "ValueAtQuantile",
            [
                Field(1, "quantile", .plain),
                Field(2, "value", .plain),
            ]),
    ]

    static let logs = 0
    static let metrics = 1
}

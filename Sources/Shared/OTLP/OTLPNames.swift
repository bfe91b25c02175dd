/// Short names for the generated messages, as the rest of the program calls them.
package typealias OTLPLogsRequest = Opentelemetry_Proto_Collector_Logs_V1_ExportLogsServiceRequest
package typealias OTLPLogsResponse = Opentelemetry_Proto_Collector_Logs_V1_ExportLogsServiceResponse
package typealias OTLPMetricsRequest = Opentelemetry_Proto_Collector_Metrics_V1_ExportMetricsServiceRequest
package typealias OTLPMetricsResponse = Opentelemetry_Proto_Collector_Metrics_V1_ExportMetricsServiceResponse
package typealias OTLPStatus = Google_Rpc_Status

package typealias OTLPResource = Opentelemetry_Proto_Resource_V1_Resource
package typealias OTLPScope = Opentelemetry_Proto_Common_V1_InstrumentationScope
package typealias OTLPKeyValue = Opentelemetry_Proto_Common_V1_KeyValue
package typealias OTLPAnyValue = Opentelemetry_Proto_Common_V1_AnyValue
package typealias OTLPArrayValue = Opentelemetry_Proto_Common_V1_ArrayValue
package typealias OTLPKeyValueList = Opentelemetry_Proto_Common_V1_KeyValueList

package typealias OTLPResourceLogs = Opentelemetry_Proto_Logs_V1_ResourceLogs
package typealias OTLPScopeLogs = Opentelemetry_Proto_Logs_V1_ScopeLogs
package typealias OTLPLogRecord = Opentelemetry_Proto_Logs_V1_LogRecord
package typealias OTLPSeverity = Opentelemetry_Proto_Logs_V1_SeverityNumber

package typealias OTLPResourceMetrics = Opentelemetry_Proto_Metrics_V1_ResourceMetrics
package typealias OTLPScopeMetrics = Opentelemetry_Proto_Metrics_V1_ScopeMetrics
package typealias OTLPMetric = Opentelemetry_Proto_Metrics_V1_Metric
package typealias OTLPTemporality = Opentelemetry_Proto_Metrics_V1_AggregationTemporality
package typealias OTLPNumberPoint = Opentelemetry_Proto_Metrics_V1_NumberDataPoint
package typealias OTLPHistogramPoint = Opentelemetry_Proto_Metrics_V1_HistogramDataPoint
package typealias OTLPExponentialPoint = Opentelemetry_Proto_Metrics_V1_ExponentialHistogramDataPoint
package typealias OTLPSummaryPoint = Opentelemetry_Proto_Metrics_V1_SummaryDataPoint
package typealias OTLPExemplar = Opentelemetry_Proto_Metrics_V1_Exemplar

extension OTLPLogRecord {
    /// The attribute that says which log record it is, however often it is sent.
    package static let uidKey = "log.record.uid"
}

extension OTLPMetric {
    /// In the metadata of a metric that a collector of ours forwards: of which record its points are. An attribute of
    /// the points would make them another series; metadata does not.
    package static let recordKey = "ws1.record.uid"
    /// The header of a request of which `recordKey` holds: nobody has divided or joined its metrics on the way. `1`.
    package static let forwardedHeader = "ws1-forwarded"
}

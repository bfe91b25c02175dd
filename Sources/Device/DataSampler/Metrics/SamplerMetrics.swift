/// The names of the sampler's own metrics in a host's metrics system, each with unit and dimensions.
///
/// Counters count from the start of the process. `stream` is status, event or sample; `reason` is a drop reason as in
/// the balance.
enum SamplerMetrics {
    /// Records that were made, whatever became of them. Counter; stream.
    static let recordsMade = "ws1_sampler_records_made_total"
    /// Records that the queue accepted. Counter; stream.
    static let recordsEnqueued = "ws1_sampler_records_enqueued_total"
    /// Records dropped. Counter; stream, reason.
    static let recordsLost = "ws1_sampler_records_lost_total"
    /// Records that the collector reported as stored. Counter; stream.
    static let recordsSent = "ws1_sampler_records_sent_total"
    /// Bytes of compressed bodies sent. Counter.
    static let sentBytes = "ws1_sampler_sent_bytes_total"
    /// Requests to the collector. Counter.
    static let requests = "ws1_sampler_requests_total"
    /// Attempts that failed. Counter.
    static let failures = "ws1_sampler_failures_total"
    /// Seconds until the next attempt after a failure; 0 if none is waiting. Gauge.
    static let backoffSeconds = "ws1_sampler_backoff_seconds"
    /// Records that wait. Gauge; stream.
    static let queueRecords = "ws1_sampler_queue_records"
    /// Bytes of waiting records. Gauge; stream.
    static let queueBytes = "ws1_sampler_queue_bytes"
    /// Bytes of pages written into the queue's WAL. Counter.
    static let queueWrittenBytes = "ws1_sampler_queue_written_bytes_total"
    /// Duration of taking one sample. Timer; module.
    static let sampleDuration = "ws1_sampler_sample_duration"
    /// The factor by which a budget lengthens intervals; 1 for none. Gauge.
    static let slowdown = "ws1_sampler_slowdown_factor"

    static let streamDimension = "stream"
    static let reasonDimension = "reason"
    static let moduleDimension = "module"
}

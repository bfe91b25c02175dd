import CoreMetrics
import DataSampler
import Synchronization

/// Records what a program counts and times with swift-metrics as samples of a custom module.
///
/// ```swift
/// import DataSampler
/// import DataSamplerMetrics
/// import Metrics
///
/// let metrics = SampledMetrics(name: "shop", sampleInterval: 60)
/// MetricsSystem.bootstrap(metrics)
/// let sampler = try DataSampler(configuration: configuration)
/// try await sampler.register(metrics)
/// try await sampler.start()
///
/// Counter(label: "http.server.requests", dimensions: [("method", "GET")]).increment()
/// Timer(label: "http.server.request.duration").recordMilliseconds(12)
/// ```
///
/// Each sample holds one set of measurements per label and dimensions. Names and types follow OpenTelemetry: dimensions
/// become attributes, times are in seconds, and the unit is taken from the label's last word if that is one
/// (`..._bytes`).
///
/// - `Counter` and `FloatingPointCounter` make two measurements. `<label>` is the total since the program started,
///   `<label>.delta` the growth since the last sample. A lost sample loses growth, never the total.
/// - `Gauge` and `Meter` make `<label>`, the last value. There is none before the first.
/// - `Timer` and `Recorder` make `<label>.count`, `.sum`, `.min` and `.max` since the last sample, and the requested
///   quantiles (`.p95`) within 5 %. There is none if nothing was recorded.
///
/// A sample has at most ``maximumMeasurements``. Labels and dimensions beyond that are not recorded, and the
/// measurement `ws1.metrics.dropped` counts them. Making a handler costs a lock and a look-up; recording uses the
/// handler's own lock. So keep handlers that are used often. Safe from any thread.
public final class SampledMetrics: MetricsFactory, CustomSampleModule {
    /// The most measurements in one sample, `ws1.metrics.dropped` included.
    public static let maximumMeasurements = 512

    private struct State {
        var series: [SeriesKey: Registered] = [:]
        /// The most measurements that all series together can give.
        var weight = 0
        var dropped: Set<Int> = []
        var droppedCount: UInt64 = 0
    }

    private struct Registered {
        var series: any Series
        /// Handlers that were made and not destroyed.
        var handlers: Int
    }

    /// How many dropped series are remembered, by the hash of their key. Further ones are counted each time they are
    /// requested.
    private static let rememberedDrops = 4_096
    private static let droppedName = "ws1.metrics.dropped"

    /// The custom module's name.
    public let name: String
    /// Seconds between two samples; `nil` uses the sampler's default.
    public let sampleInterval: Double?
    private let quantiles: [Double]
    private let state = Mutex(State())

    /// Makes a factory. It does nothing until it becomes the metrics system's factory or makes handlers.
    ///
    /// - Parameters:
    ///   - name: the custom module's name: see ``CustomSampleModule/name``.
    ///   - sampleInterval: seconds, 1 to 86,400; `nil` uses the sampler's default.
    ///   - quantiles: quantiles of timers and recorders, above 0 and below 1. Each adds a measurement per timer. Other
    ///     values are ignored.
    public init(name: String, sampleInterval: Double? = nil, quantiles: [Double] = []) {
        self.name = name
        self.sampleInterval = sampleInterval
        self.quantiles = Array(quantiles.filter { $0 > 0 && $0 < 1 }.prefix(8))
    }

    /// The measurements since the last call. The sampler calls it.
    public func sample() async throws -> [SampleMeasurement] { drainMeasurements() }

    func drainMeasurements() -> [SampleMeasurement] {
        state.withLock { state in
            var measurements: [SampleMeasurement] = []
            for (key, registered) in state.series {
                measurements += registered.series.drainMeasurements(key)
                // The sample contains its last growth.
                if registered.handlers == 0 { remove(key, &state) }
            }
            if state.droppedCount > 0 {
                measurements.append(
                    SampleMeasurement(
                        name: Self.droppedName, unit: "{series}", value: .integer(Int64(clamping: state.droppedCount))))
            }
            return measurements
        }
    }

    // MARK: MetricsFactory

    /// A handler whose total and growth are sampled.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        make(.counter, label, dimensions, unit: "1") { CounterSeries() } ?? CounterSeries()
    }

    /// A handler whose total and growth are sampled.
    public func makeFloatingPointCounter(label: String, dimensions: [(String, String)])
        -> any FloatingPointCounterHandler
    {
        make(.floatingPointCounter, label, dimensions, unit: "1") { FloatingPointCounterSeries() }
            ?? FloatingPointCounterSeries()
    }

    /// A handler whose last value is sampled.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        make(.meter, label, dimensions, unit: "") { GaugeSeries() } ?? GaugeSeries()
    }

    /// A handler whose distribution is sampled, or only its last value if it does not aggregate.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return make(.gauge, label, dimensions, unit: "") { GaugeSeries() } ?? GaugeSeries() }
        let quantiles = quantiles
        return make(.recorder, label, dimensions, unit: "") { DistributionSeries(quantiles: quantiles) }
            ?? DistributionSeries(quantiles: [])
    }

    /// A handler whose distribution is sampled, in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let quantiles = quantiles
        return make(.timer, label, dimensions, unit: "s") { DistributionSeries(quantiles: quantiles) }
            ?? DistributionSeries(quantiles: [])
    }

    /// Releases a handler. The last one of its label and dimensions is sampled once more.
    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }

    /// Releases a handler. The last one of its label and dimensions is sampled once more.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }

    /// Releases a handler. The last one of its label and dimensions is sampled once more.
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }

    /// Releases a handler. The last one of its label and dimensions is sampled once more.
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }

    /// Releases a handler. The last one of its label and dimensions is sampled once more.
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    // MARK: Series

    /// - Returns: `nil` if there is no room, or if there are too many dimensions. What is recorded then is discarded
    ///   and counted.
    private func make<S: Series>(
        _ kind: SeriesKey.Kind, _ label: String, _ dimensions: [(String, String)], unit: String, _ new: () -> S
    ) -> S? {
        let key = SeriesKey(kind, label: label, dimensions: dimensions, unit: unit)
        return state.withLock { state in
            guard let key else {
                state.droppedCount += 1
                return nil
            }
            if let registered = state.series[key], let series = registered.series as? S {
                state.series[key]?.handlers += 1
                return series
            }
            let series = new()
            // One measurement is reserved for the count of dropped series.
            guard state.weight + series.weight < Self.maximumMeasurements else {
                if state.dropped.count >= Self.rememberedDrops || state.dropped.insert(key.hashValue).inserted {
                    state.droppedCount += 1
                }
                return nil
            }
            state.weight += series.weight
            state.series[key] = Registered(series: series, handlers: 1)
            return series
        }
    }

    private func destroy(_ handler: AnyObject) {
        state.withLock { state in
            // Destroying is rare, so a search is cheaper than a key in every handler.
            guard let key = state.series.first(where: { $0.value.series === handler })?.key else { return }
            state.series[key]?.handlers -= 1
        }
    }

    private func remove(_ key: SeriesKey, _ state: inout State) {
        guard let registered = state.series.removeValue(forKey: key) else { return }
        state.weight -= registered.series.weight
    }
}

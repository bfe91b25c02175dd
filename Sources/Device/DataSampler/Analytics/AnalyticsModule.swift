import SampleModules
import WireModel

/// The Analytics module: the application's own usage since the last sample, from the ledger.
///
/// Whoever drives it lets the ledger observe the queue's status first, so that the figures of events are those of the moment.
struct AnalyticsModule: SampleModule {
    let name = SampleModuleName.analytics
    private let ledger: AnalyticsLedger

    init(ledger: AnalyticsLedger) { self.ledger = ledger }

    mutating func sample(at time: SampleTime) -> SampleResult {
        guard let sample = ledger.sample(at: time.sinceBootMicroseconds) else { return .none(reason: "analytics is not enabled") }
        return .sample(Sample(kind: .sampleAnalytics, module: name.rawValue, body: sample.encoded))
    }
}

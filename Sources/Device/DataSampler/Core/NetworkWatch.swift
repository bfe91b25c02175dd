import Transmitter
import WireModel

/// Decides when the host is informed that sending stopped or resumed (ws1: `networkStopped(reason)`, `networkResumed`).
/// Pure; times are microseconds since boot.
///
/// The transmitter reports the gates of the queue's three streams whenever it looks at them: at each pass, and once a
/// minute while one is closed. The host is informed of all streams together:
///
/// - *Stopped* means that the gate of at least one stream is closed. The notice names the streams, and the gate of the
///   first of them: status before events before samples. If streams or gate change, another notice says so.
/// - *Resumed* means that the last closed gate opened. It is reported only after a *stopped*, so that a start with open
///   gates reports nothing.
/// - Only what lasts for ``settleMicroseconds`` is reported. A network that comes and goes faster changes nothing.
///
/// Consent, the missing first profile and a busy machine do not count: they are no matter of network, power or pause,
/// and status shows them. The gate of logs does not count either: who sends logs hears it at the call. A crash of the
/// program forgets what was reported; the next start reports a gate that is still closed again.
struct NetworkWatch: Equatable, Sendable {
    static let settleMicroseconds: UInt64 = 10_000_000

    /// Why data is not sent.
    struct Stop: Equatable, Sendable {
        var gate: DeliveryFailure.ClosedGate
        /// Those that wait, in order.
        var streams: [StreamName]
        /// The reason in words. Figures in it, such as a battery level, change without being news.
        var why: String

        static func == (left: Stop, right: Stop) -> Bool {
            left.gate == right.gate && left.streams == right.streams
        }

        /// - Returns: `nil` if nothing that counts is closed.
        init?(_ closed: [StreamName: TransmissionGate.Reason]) {
            let counted = closed.filter { ![.consent, .firstProfile, .stalled].contains($0.value) }
            streams = counted.keys.sorted()
            guard let first = streams.first, let reason = counted[first] else { return nil }
            gate = DeliveryFailure.ClosedGate(reason)
            why = "\(reason)"
        }
    }

    /// The stop that the host knows of; `nil`: everything may be sent.
    private var reported: Stop?
    private var present: Stop?
    /// Since when the two differ.
    private var since: UInt64?

    mutating func saw(_ closed: [StreamName: TransmissionGate.Reason], now: UInt64) {
        present = Stop(closed)
        since = present == reported ? nil : since ?? now
    }

    /// When the change is to be reported; `nil`: there is none.
    var dueAt: UInt64? { since.map { $0 &+ Self.settleMicroseconds } }

    /// The notice that is to be posted now, once.
    mutating func settled(now: UInt64) -> DataSamplerNotice? {
        guard let dueAt, now >= dueAt else { return nil }
        reported = present
        since = nil
        guard let present else {
            return DataSamplerNotice(.networkResumed, "everything may be sent again")
        }
        let streams = present.streams.map { "\($0)" }.joined(separator: ", ")
        return DataSamplerNotice(
            .networkStopped, "records of \(streams) are not sent now: \(present.why)",
            ["reason": present.gate.rawValue, "streams": streams])
    }
}

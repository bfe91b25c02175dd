import Synchronization
import WireModel

/// What devices' clocks say of the collector's (`ClockConsensus`), for many tasks: those who store records tell, retention asks.
package final class DeviceClocks: Sendable {
    private let jury = Mutex(ClockConsensus())

    package init() {}

    /// - Parameters:
    ///   - time: of the newest record it has, by its clock; told only where it has sent all.
    ///   - now: the collector's clock.
    package func note(_ device: DeviceID, newestRecord time: Int64, at now: Int64) {
        let (behind, overflow) = now.subtractingReportingOverflow(time)
        guard !overflow else { return }
        jury.withLock { $0.note(device, behind: behind) }
    }

    var isQuorate: Bool { jury.withLock { $0.isQuorate } }
    var medianBehind: Int64? { jury.withLock { $0.medianBehind } }
}

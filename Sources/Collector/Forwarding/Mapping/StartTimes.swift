import WireModel

/// The start times of cumulative counters, each the same for all points of a counter.
///
/// A sample tells for how long a counter has been counting. The start that follows from it is as exact as the device's
/// clock, so it differs a little from sample to sample. A receiver takes another start for a reset. So the first one is
/// kept, in whole seconds: after a restart of the collector mostly the same comes out again.
///
/// Pure. It keeps the starts of a bounded number of devices.
struct StartTimes {
    private struct Known {
        var boot: BootID?
        /// Microseconds since 1970.
        var starts: [Int64]
    }

    private static let second: Int64 = 1_000_000
    /// Two starts that are no further apart are one: clocks are set right in small steps.
    private static let tolerance = 3 * second
    /// Of one boot: interfaces and processes begin later than the machine.
    private static let startsPerDevice = 256

    private let devices: Int
    private var known: [DeviceID: Known] = [:]

    /// - Parameter devices: how many are kept; beyond that all are forgotten.
    init(devices: Int) { self.devices = devices }

    /// - Parameter computed: what the sample says, microseconds since 1970.
    mutating func start(of device: DeviceID, boot: BootID?, computed: Int64) -> Int64 {
        if known[device] == nil, known.count >= devices { known.removeAll(keepingCapacity: true) }
        var entry = known.removeValue(forKey: device) ?? Known(boot: boot, starts: [])
        defer { known[device] = entry }
        if entry.boot != boot { entry = Known(boot: boot, starts: []) }
        if let same = entry.starts.first(where: { abs($0 - computed) <= Self.tolerance }) { return same }
        let start = computed - (computed % Self.second + Self.second) % Self.second
        if entry.starts.count >= Self.startsPerDevice { entry.starts.removeFirst() }
        entry.starts.append(start)
        return start
    }
}

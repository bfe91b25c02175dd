import WireModel

/// The clocks of devices as witnesses of the collector's. Each device has one voice: how far its clock was behind when it last sent all it had.
///
/// Only where the collector is ahead is asked: then it takes records for older than they are. Where it is behind it removes too little.
struct ClockConsensus: Equatable {
    /// Devices that are listened to; the one that spoke first goes.
    static let voices = 256
    /// Fewer say nothing.
    static let least = 5
    /// A device's newest record may be a day old when it is sent (the longest intervals of sampling and sending); twice that is not to be
    /// explained by them.
    static let toleranceMicroseconds: Int64 = 2 * 86_400_000_000

    private var behind: [DeviceID: Int64] = [:]
    private var order: [DeviceID] = []

    /// - Parameter microseconds: how far behind the collector's clock; negative: ahead.
    mutating func note(_ device: DeviceID, behind microseconds: Int64) {
        if behind.updateValue(microseconds, forKey: device) != nil { return }
        order.append(device)
        if order.count > Self.voices { behind[order.removeFirst()] = nil }
    }

    /// Whether enough have spoken.
    var isQuorate: Bool { order.count >= Self.least }

    /// The median: more than half of the devices are at least so far behind, whatever the others say. `nil`: too few have spoken.
    var medianBehind: Int64? {
        isQuorate ? behind.values.sorted()[behind.count / 2] : nil
    }
}

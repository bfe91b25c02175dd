import RecordQueue
import Transmitter
import WireModel

/// Makes the body of a beacon from what is known. Nothing is invented: what no detector or rule has looked at is unknown.
enum BeaconComposer {
    struct Circumstances {
        var trigger: WireBeaconTrigger
        /// When the next is due; 0: no schedule.
        var nextBeaconSeconds: UInt32
        /// Counts in this process, from 1.
        var sequence: UInt64
        var stamp: RecordStamp
        var facts: DeviceFacts.Reading
        var enrollment: Enrollment?
        /// `nil` where the queue could not say.
        var queue: QueueStatus?
    }

    static func beacon(_ circumstances: Circumstances, configuration: DataSamplerConfiguration) -> WireBeacon {
        var beacon = WireBeacon()
        beacon.trigger = circumstances.trigger
        beacon.nextBeaconSeconds = circumstances.nextBeaconSeconds
        beacon.beaconSequence = circumstances.sequence
        beacon.application = configuration.applicationIdentifier
        beacon.applicationVersion = configuration.applicationVersion
        beacon.libraryVersion = DataSampler.version
        beacon.enrollment = circumstances.enrollment == nil ? .unknown : .enrolled
        beacon.organizationGroup = circumstances.enrollment?.organization ?? ""
        beacon.deviceCompliance = .unknown
        beacon.applicationCompliance = .unknown
        beacon.compromised = .unknown
        beacon.managed = .unknown
        beacon.doNotDisturb = .unknown
        beacon.network = .unknown
        let facts = circumstances.facts
        beacon.uptimeSeconds = facts.uptimeSeconds
        if let identity = facts.identity {
            beacon.deviceName = identity.hostName
            beacon.operatingSystem = identity.operatingSystem
            beacon.model = identity.model
        }
        if let power = facts.power { beacon.power = power }
        if let cost = facts.cost {
            beacon.self_p = cost
            beacon.processStartTime = circumstances.stamp.wallTime - Int64(clamping: cost.uptimeMicroseconds)
        }
        beacon.queue = circumstances.queue.map(streams) ?? []
        return beacon
    }

    private static func streams(_ status: QueueStatus) -> [WireStreamStatus] {
        status.streams.sorted { $0.key < $1.key }.map { name, stream in
            var message = WireStreamStatus()
            message.stream = WireStream(rawValue: name.rawValue) ?? .unspecified
            message.waiting = stream.waiting
            message.waitingBytes = stream.waitingBytes
            if let age = stream.oldestAgeSeconds { message.oldestAgeSeconds = UInt64(max(0, age)) }
            message.dropped = stream.dropped.values.reduce(0, +)
            message.acknowledged = stream.mark.number
            return message
        }
    }
}

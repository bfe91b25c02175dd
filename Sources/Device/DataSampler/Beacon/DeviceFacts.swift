import Logging
import SampleModules
import WireModel

/// The facts about the machine in beacons and enrollments. A System module of its own reads them, so beacons and
/// samples agree. What cannot be read stays absent.
struct DeviceFacts: Sendable {
    struct Reading: Sendable {
        var identity: WireSystemIdentity?
        var uptimeSeconds: UInt64 = 0
        var power: WirePower?
        var cost: WireSelfCost?

        /// Adds the program's own figures.
        func adding(_ figures: SelfFigures) -> Reading {
            var reading = self
            reading.cost?.add(figures)
            return reading
        }
    }

    private let host: any HostSource
    private var module: SystemModule
    /// Cached, because the module reports it only now and then.
    private(set) var identity: WireSystemIdentity?

    init(host: any HostSource, logger: Logger) {
        self.host = host
        module = SystemModule(host: host, logger: logger)
    }

    mutating func read(at stamp: RecordStamp) -> Reading {
        var reading = Reading(identity: identity)
        let result = module.sample(
            at: SampleTime(wallMicroseconds: stamp.wallTime, sinceBootMicroseconds: stamp.timeSinceBoot))
        guard case .sample(let sample) = result, let message = try? WireSystemSample.decode(sample.body) else {
            return reading
        }
        if message.hasIdentity { identity = message.identity }
        reading.identity = identity
        reading.uptimeSeconds = message.uptimeSeconds
        if message.hasPower { reading.power = message.power }
        if message.hasSelf_p { reading.cost = message.self_p }
        return reading
    }
}

/// The user of the device as the application knows it. Used in beacons only. The privacy class `user` decides what is
/// sent of each field.
public struct DeviceUser: Equatable, Sendable {
    /// The longest field in bytes; longer ones are cut between characters.
    static let maximumBytes = 320

    /// `nil` is not reported.
    public var email: String?
    /// `nil` is not reported.
    public var fullName: String?
    /// `nil` is not reported.
    public var displayName: String?

    /// Fields that are `nil` are not reported.
    public init(email: String? = nil, fullName: String? = nil, displayName: String? = nil) {
        self.email = email
        self.fullName = fullName
        self.displayName = displayName
    }
}

/// The device's relation to its organization, as a beacon reports it.
enum EnrollmentStanding: Equatable, Sendable {
    /// The device has no credential, and nobody unenrolled it.
    case unknown
    case enrolled(organization: String)
    /// A wipe was ordered and is not complete.
    case wipePending(organization: String)
    /// The device was unenrolled. One last beacon reports it.
    case unenrolled(organization: String)

    var wire: WireEnrollmentState {
        switch self {
        case .unknown: .unknown
        case .enrolled: .enrolled
        case .wipePending: .wipePending
        case .unenrolled: .unenrolled
        }
    }

    /// The organization group; empty if unknown.
    var organization: String {
        switch self {
        case .unknown: ""
        case .enrolled(let name), .wipePending(let name), .unenrolled(let name): name
        }
    }

    /// Whether an organization manages the device, so its profile and commands apply. An enrolled device is managed
    /// until an ordered wipe is complete. An unenrolled device is not. For a device that was never enrolled it is
    /// unknown, because another program may manage it.
    var managed: WireVerdict {
        switch self {
        case .unknown: .unknown
        case .enrolled, .wipePending: .yes
        case .unenrolled: .no
        }
    }
}

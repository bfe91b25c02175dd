import Logging
import SampleModules
import WireModel

/// What a beacon and an enrollment say of the machine. Read by a System module of its own, so that a beacon and a
/// sample never differ in what they call a thing. What cannot be read stays absent.
struct DeviceFacts: Sendable {
    struct Reading: Sendable {
        var identity: WireSystemIdentity?
        var uptimeSeconds: UInt64 = 0
        var power: WirePower?
        var cost: WireSelfCost?

        /// With what the program knows of its own cost.
        func adding(_ figures: SelfFigures) -> Reading {
            var reading = self
            reading.cost?.add(figures)
            return reading
        }
    }

    private let host: any HostSource
    private var module: SystemModule
    /// The module repeats it only now and then.
    private var identity: WireSystemIdentity?

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

/// Who uses the device, as the application knows it: in beacons only, and personal - what becomes of each field the
/// privacy class `user` says.
public struct DeviceUser: Equatable, Sendable {
    /// A field is at most this long; what is longer is cut at a character.
    static let maximumBytes = 320

    /// `nil`: not told.
    public var email: String?
    /// `nil`: not told.
    public var fullName: String?
    /// `nil`: not told.
    public var displayName: String?

    /// What is `nil` is not told.
    public init(email: String? = nil, fullName: String? = nil, displayName: String? = nil) {
        self.email = email
        self.fullName = fullName
        self.displayName = displayName
    }
}

/// Tells where the device is, for beacons: the port to whatever knows it. Asked only where position is allowed.
protocol LocationSource: Sendable {
    /// The last known position, at once; `nil`: none. Safe from any thread.
    func location() -> WireLocation?
}

/// How the device stands with its organization, as a beacon tells it.
enum EnrollmentStanding: Equatable, Sendable {
    /// It has no credential, and nobody has said that it left.
    case unknown
    case enrolled(organization: String)
    /// A wipe was ordered and is not done yet.
    case wipePending(organization: String)
    /// It left: one last beacon tells it.
    case unenrolled(organization: String)

    var wire: WireEnrollmentState {
        switch self {
        case .unknown: .unknown
        case .enrolled: .enrolled
        case .wipePending: .wipePending
        case .unenrolled: .unenrolled
        }
    }

    /// The organization group; empty where it is not known.
    var organization: String {
        switch self {
        case .unknown: ""
        case .enrolled(let name), .wipePending(let name), .unenrolled(let name): name
        }
    }

    /// Whether an organization manages the device: its profile and commands hold here. That is what enrolling means, so
    /// an enrolled device is managed until the wipe it was ordered is done, one that left is not, and of one that never
    /// enrolled nothing is known - another program may manage it.
    var managed: WireVerdict {
        switch self {
        case .unknown: .unknown
        case .enrolled, .wipePending: .yes
        case .unenrolled: .no
        }
    }
}

import Logging
import SampleModules
import WireModel

/// What a beacon and an enrollment say of the machine. Read by a System module of its own, so that a beacon and a sample never differ in
/// what they call a thing. What cannot be read stays absent.
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
        let result = module.sample(at: SampleTime(wallMicroseconds: stamp.wallTime, sinceBootMicroseconds: stamp.timeSinceBoot))
        guard case .sample(let sample) = result, let message = try? WireSystemSample.decode(sample.body) else { return reading }
        if message.hasIdentity { identity = message.identity }
        reading.identity = identity
        reading.uptimeSeconds = message.uptimeSeconds
        if message.hasPower { reading.power = message.power }
        if message.hasSelf_p { reading.cost = message.self_p }
        return reading
    }
}

import FoundationEssentials
import WireModel

/// Record bodies like those of real devices. A system sample has about 200 bytes.
enum SimulatedBodies {
    static func system(uptime: UInt64, interval: Int, _ random: inout SplitMix64) -> Data {
        var sample = WireSystemSample()
        sample.uptimeSeconds = uptime
        sample.intervalMicroseconds = UInt64(interval) * 1_000_000
        let user = UInt32.random(in: 0...4000, using: &random)
        sample.cpu.user = user
        sample.cpu.system = user / 3
        sample.cpu.idle = 10_000 - user - user / 3
        sample.load.oneMinute = user / 20
        sample.load.fiveMinutes = user / 25
        sample.load.fifteenMinutes = user / 30
        sample.activity.contextSwitches = .random(in: 1000...90_000, using: &random)
        sample.activity.interrupts = .random(in: 1000...90_000, using: &random)
        sample.activity.running = .random(in: 1...4, using: &random)
        sample.memory.total = 8 << 30
        sample.memory.available = .random(in: 1 << 30...6 << 30, using: &random)
        sample.memory.free = .random(in: 1 << 28...1 << 30, using: &random)
        sample.memory.cached = .random(in: 1 << 28...1 << 30, using: &random)
        sample.memory.used = sample.memory.total - sample.memory.available
        var root = WireFileSystem()
        root.mountPoint = "/"
        root.type = "ext4"
        root.device = "/dev/sda1"
        root.size = 64 << 30
        root.used = .random(in: 8 << 30...32 << 30, using: &random)
        root.available = root.size - root.used
        sample.fileSystems = [root]
        var disk = WireBlockDevice()
        disk.name = "sda"
        disk.writes = .random(in: 0...900, using: &random)
        disk.writtenBytes = disk.writes * 4096
        // As if it had worked evenly since the start.
        disk.total.writes = uptime * 15
        disk.total.writtenBytes = disk.total.writes * 4096
        sample.blockDevices = [disk]
        return sample.encoded
    }

    static func beacon(sequence: UInt64, nextSeconds: Int) -> Data {
        var beacon = WireBeacon()
        beacon.trigger = .schedule
        beacon.operatingSystem.name = "linux"
        beacon.enrollment = .enrolled
        beacon.deviceCompliance = .unknown
        beacon.nextBeaconSeconds = UInt32(nextSeconds)
        beacon.beaconSequence = sequence
        return beacon.encoded
    }

    static func event(_ random: inout SplitMix64) -> Data {
        var event = WireEvent()
        event.type = .custom
        event.name = ["sale", "open", "scan"][Int.random(in: 0..<3, using: &random)]
        event.value.integer = .random(in: 0...1000, using: &random)
        return event.encoded
    }
}

/// A small seeded generator (Steele, Lea, Flood 2014), so the same seed gives the same fleet.
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True with this probability.
    mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
}

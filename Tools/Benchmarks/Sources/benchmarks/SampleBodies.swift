import Foundation
import WireModel

/// Typed system samples of about 200 bytes, as a small machine makes them, each with numbers of its own.
struct SampleBodies {
    private var generator: SplitMix
    private var uptime: UInt64 = 86_400

    /// - Parameter seed: another machine for another seed.
    init(seed: UInt64) {
        generator = SplitMix(state: seed)
    }

    mutating func next() -> Data {
        uptime += 60
        var sample = WireSystemSample()
        sample.uptimeSeconds = uptime
        sample.intervalMicroseconds = 60_000_000 + .random(in: 0..<2000, using: &generator)
        sample.cpu.user = .random(in: 100..<3000, using: &generator)
        sample.cpu.system = .random(in: 50..<900, using: &generator)
        sample.cpu.idle = 10_000 - sample.cpu.user - sample.cpu.system
        sample.cpu.ioWait = .random(in: 0..<100, using: &generator)
        sample.load.oneMinute = .random(in: 5..<400, using: &generator)
        sample.load.fiveMinutes = .random(in: 5..<300, using: &generator)
        sample.load.fifteenMinutes = .random(in: 5..<200, using: &generator)
        sample.activity.contextSwitches = .random(in: 10_000..<900_000, using: &generator)
        sample.activity.interrupts = .random(in: 10_000..<400_000, using: &generator)
        sample.activity.running = .random(in: 1..<5, using: &generator)
        sample.memory.total = 8_320_000_000
        sample.memory.available = .random(in: 3_000_000_000..<6_000_000_000, using: &generator)
        sample.memory.free = .random(in: 300_000_000..<2_000_000_000, using: &generator)
        sample.memory.cached = .random(in: 1_000_000_000..<2_000_000_000, using: &generator)
        var root = WireFileSystem()
        root.mountPoint = "/"
        root.type = "ext4"
        root.device = "/dev/vda1"
        root.size = 62_000_000_000
        root.used = .random(in: 20_000_000_000..<30_000_000_000, using: &generator)
        root.available = root.size - root.used
        sample.fileSystems = [root]
        var disk = WireBlockDevice()
        disk.name = "vda"
        disk.reads = .random(in: 0..<900, using: &generator)
        disk.writes = .random(in: 10..<9000, using: &generator)
        disk.readBytes = disk.reads * 4096
        disk.writtenBytes = disk.writes * 4096
        disk.busyMicroseconds = .random(in: 1000..<9_000_000, using: &generator)
        sample.blockDevices = [disk]
        sample.self_p.cpuTimeMicroseconds = .random(in: 100_000..<9_000_000, using: &generator)
        sample.self_p.residentBytes = .random(in: 20_000_000..<30_000_000, using: &generator)
        return sample.encoded
    }
}

import DeviceTestKit
import Logging
import SampleModules
import SwiftProtobuf
import Testing
import WireModel

@testable import SampleModules

@Suite("System module on captured machines")
struct SystemModuleTests {
    private static func at(_ seconds: UInt64) -> SampleTime {
        SampleTime(wallMicroseconds: 1_795_003_700_000_000, sinceBootMicroseconds: seconds * 1_000_000)
    }

    private static func module(_ host: CapturedHostSource, _ log: RecordedLog = RecordedLog()) -> SystemModule {
        SystemModule(host: host, logger: log.logger())
    }

    @Test(arguments: [
        ("12.11\n", "12.11"), ("12.11\r\n", "12.11"), ("12.5", "12.5"), ("trixie/sid\n", "12"), ("13.1\n", "12"),
        ("\n", "12"),
    ])
    func `Debian's point release comes from its own file, if that has one`(file: String, version: String) {
        let host = CapturedMachine.laptop.host()
        host.set("/etc/debian_version", file)
        var module = Self.module(host)
        #expect(module.read(at: Self.at(3_700)).identity.operatingSystem.version == version)
    }

    @Test
    func `the first sample of a laptop says all that needs no comparison`() throws {
        var module = Self.module(CapturedMachine.laptop.host())
        let sample = module.read(at: Self.at(3_700))

        #expect(sample.identity.hostName == "anna-laptop")
        #expect(sample.identity.operatingSystem.name == "linux")
        #expect(sample.identity.operatingSystem.distribution == "debian")
        #expect(sample.identity.operatingSystem.version == "12")
        #expect(sample.identity.operatingSystem.kernel == "6.1.0-18-amd64")
        #expect(sample.identity.operatingSystem.architecture == "x86_64")
        #expect(sample.identity.model == "20L7CTO1WW")
        #expect(sample.identity.vendor == "LENOVO")
        #expect(sample.identity.cpuModel == "Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz")
        #expect(sample.identity.logicalCores == 8)
        #expect(sample.identity.bootID.count == 16 && sample.identity.bootID.first == 0x0f)
        #expect(sample.identity.bootTime == 1_795_000_000_000_000)
        #expect(sample.uptimeSeconds == 3_700)

        #expect(
            !sample.hasIntervalMicroseconds && !sample.hasCpu && sample.cores.isEmpty && sample.blockDevices.isEmpty)
        #expect(
            !sample.activity.hasContextSwitches && !sample.activity.hasInterrupts
                && !sample.activity.hasProcessesCreated)
        #expect(sample.activity.running == 3 && sample.activity.blocked == 1)
        #expect(sample.load.oneMinute == 52 && sample.load.fiveMinutes == 105 && sample.load.fifteenMinutes == 98)
        #expect(sample.pressure.io.some.totalMicroseconds == 5_550)
        #expect(sample.pressure.cpu.some.average300Seconds == 444)
        #expect(sample.memory.total == 16_265_892 * 1_024 && sample.memory.available == 9_000_000 * 1_024)
        #expect(sample.memory.swapTotal == 8_388_604 * 1_024 && sample.memory.swapFree == 8_000_000 * 1_024)
        #expect(sample.memory.cached == 4_096_000 * 1_024)
        #expect(sample.memory.used == (16_265_892 - 9_000_000) * 1_024)
        #expect(sample.memory.swapUsed == 388_604 * 1_024)
        #expect(sample.memory.slabReclaimable == 400_000 * 1_024 && sample.memory.slabUnreclaimable == 112_000 * 1_024)
        // Ticks are hundredths of a second. Hard and soft interrupts are one mode.
        #expect(
            sample.cpuTime
                == .with {
                    $0.user = 903_600
                    $0.nice = 9_600
                    $0.system = 350_800
                    $0.idle = 72_000_000
                    $0.ioWait = 40_000
                    $0.interrupt = 8_400
                })
        #expect(sample.activity.processesCreatedSinceBoot == 500_000)

        #expect(sample.power.hasExternalPower && !sample.power.externalPower)
        #expect(sample.power.batteryLevel == 7_300 && sample.power.state == .discharging)
        #expect(sample.power.cycleCount == 312 && sample.power.health == 8_000)
        let temperatures = Dictionary(uniqueKeysWithValues: sample.temperatures.map { ($0.sensor, $0.millidegrees) })
        #expect(
            temperatures == [
                "acpitz/temp1": 45_000, "nvme/Composite": 38_850, "coretemp/Package id 0": 52_000,
                "x86_pkg_temp/thermal_zone1": 52_000,
            ])

        #expect(sample.self_p.cpuTimeMicroseconds == 760_000 && sample.self_p.openFiles == 24)
        #expect(sample.self_p.residentBytes == 5_000 * 4_096 && sample.self_p.writtenBytes == 8_192)
        #expect(sample.self_p.uptimeMicroseconds == 100_000_000)
        #expect(sample.self_p.cpuUserMicroseconds == 550_000 && sample.self_p.cpuSystemMicroseconds == 210_000)
        #expect(sample.self_p.readBytes == 4_096)
    }

    @Test
    func `a kernel that does not say what is available gets its used memory from the others`() {
        func used(_ lines: String) -> UInt64? {
            Array("MemTotal: 100 kB\n\(lines)\n".utf8).withUnsafeBytes { MemInfo($0).used }
        }
        #expect(used("MemFree: 20 kB\nBuffers: 5 kB\nCached: 15 kB") == 60 * 1_024)
        #expect(used("MemFree: 20 kB\nBuffers: 5 kB\nCached: 15 kB\nMemAvailable: 70 kB") == 30 * 1_024)
        #expect(used("MemFree: 20 kB\nBuffers: 5 kB") == nil)
        #expect(used("MemAvailable: 101 kB") == nil)
        #expect(used("MemFree: 90 kB\nBuffers: 5 kB\nCached: 15 kB") == nil)
    }

    @Test
    func `of a Lenovo the name that people know is told with the machine type, unless the firmware has none`() {
        func model(_ version: String, vendor: String = "LENOVO") -> String {
            let host = CapturedMachine.laptop.host()
            host.set("/sys/class/dmi/id/sys_vendor", "\(vendor)\n")
            host.set("/sys/class/dmi/id/product_name", "21KCS06300\n")
            host.set("/sys/class/dmi/id/product_version", "\(version)\n")
            var module = Self.module(host)
            return module.read(at: Self.at(3_700)).identity.model
        }
        #expect(model("ThinkPad X1 Carbon Gen 12") == "ThinkPad X1 Carbon Gen 12 (21KCS06300)")
        #expect(model("Not Available") == "21KCS06300")
        #expect(model("1.0") == "21KCS06300")
        #expect(model("ThinkPad X1 Carbon Gen 12", vendor: "Other") == "21KCS06300")
    }

    @Test
    func `sensors of one chip with one label have names of their own, and others keep theirs`() {
        let host = CapturedMachine.laptop.host()
        let chip = "/sys/class/hwmon/hwmon2"
        host.set("\(chip)/temp1_label", "Ambient\n")
        host.set("\(chip)/temp98_label", "Ambient\n")
        host.set("\(chip)/temp98_input", "31000\n")
        host.set("\(chip)/temp99_label", "Board\n")
        host.set("\(chip)/temp99_input", "32000\n")
        var module = Self.module(host)
        let names = module.read(at: Self.at(3_700)).temperatures.map(\.sensor)
        #expect(Set(names).count == names.count)
        #expect(names.contains { $0.hasSuffix("/Ambient temp1") })
        #expect(names.contains { $0.hasSuffix("/Ambient temp98") })
        #expect(names.contains { $0.hasSuffix("/Board") })
    }

    @Test
    func `a port that is offline says nothing of the power of a machine without a battery`() {
        func power(online: Int, battery: Bool = false) -> WirePower? {
            func event(_ text: String) -> PowerSupplyEvent { Array(text.utf8).withUnsafeBytes { PowerSupplyEvent($0) } }
            var supplies = [event("POWER_SUPPLY_TYPE=USB\nPOWER_SUPPLY_ONLINE=\(online)\n")]
            if battery { supplies.append(event("POWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_PRESENT=1\n")) }
            return PowerSummary.power(of: supplies)
        }
        #expect(power(online: 0) == nil)
        #expect(power(online: 1)?.externalPower == true)
        #expect(power(online: 0, battery: true)?.externalPower == false)
    }

    @Test
    func `of a laptop's file systems each local disk is sent once, and nothing on a network is asked`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        let sample = module.read(at: Self.at(3_700))
        #expect(sample.fileSystems.map(\.mountPoint) == ["/", "/boot/efi"])
        #expect(host.figuresAsked == ["/", "/boot/efi", "/media/anna/USB STICK"])
        let root = sample.fileSystems[0]
        #expect(root.type == "btrfs" && root.device == "/dev/mapper/luks-root" && root.inodes == 0 && !root.readOnly)
        #expect(
            root.size == 120_000_000 * 4_096 && root.used == 70_000_000 * 4_096 && root.available == 49_000_000 * 4_096)
        #expect(root.reserved == 1_000_000 * 4_096)
        for fileSystem in sample.fileSystems {
            #expect(fileSystem.used + fileSystem.available + fileSystem.reserved == fileSystem.size)
        }
    }

    @Test
    func `a file system that was unmounted is not answered for by the directory beneath it`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        host.change { machine in
            let text = String(decoding: machine.files["/proc/self/mountinfo"] ?? [], as: UTF8.self)
            let rest = text.split(separator: "\n").filter { !$0.contains("/boot/efi") }.map { $0 + "\n" }.joined()
            machine.files["/proc/self/mountinfo"] = Array(rest.utf8)
        }
        #expect(module.read(at: Self.at(3_701)).fileSystems.map(\.mountPoint) == ["/"])
    }

    @Test
    func `on a server all cores and whole disks count, partitions and unused devices do not`() {
        let host = CapturedMachine.server.host()
        var module = Self.module(host)
        let first = module.read(at: Self.at(900_000))
        #expect(first.identity.logicalCores == 64 && first.identity.operatingSystem.distribution == "rocky")
        #expect(first.identity.operatingSystem.version == "9.3")
        #expect(!first.hasPower)
        #expect(first.temperatures.map(\.sensor) == ["nvme/Composite", "nvme@nvme1/Composite"])
        #expect(first.fileSystems.count == 24 && first.fileSystems[0].mountPoint == "/")
        #expect(!host.figuresAsked.contains { $0.hasPrefix("/srv") || $0.hasPrefix("/var") || $0 == "/bind" })

        let second = module.read(at: Self.at(900_001))
        let names = second.blockDevices.map(\.name)
        #expect(names.count == 26 && names.contains("sdx") && names.contains("md0") && names.contains("cciss/c0d0"))
        #expect(!names.contains("sda1") && !names.contains("ram0"))
        #expect(second.blockDevices.allSatisfy { $0.reads == 0 && $0.writtenBytes == 0 })
        #expect(second.intervalMicroseconds == 1_000_000)
        #expect(!second.hasIdentity)
    }

    private static func stat(_ scale: UInt64, cores: [Int] = [0, 1], counters: UInt64) -> String {
        let lines = cores.map { "cpu\($0) \(scale) 0 \(scale) \(scale * 2) 0 0 0 0 0 0\n" }.joined()
        let sum = scale * UInt64(cores.count)
        return "cpu  \(sum) 0 \(sum) \(sum * 2) 0 0 0 0 0 0\n\(lines)intr \(counters) 1 2\nctxt \(counters * 2)\n"
            + "btime 1795000000\nprocesses \(counters)\nprocs_running 1\nprocs_blocked 0\n"
    }

    @Test
    func `deltas span from the sample before`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        host.set("/proc/stat", Self.stat(100, counters: 50))
        host.set("/proc/diskstats", "259 0 nvme0n1 100 0 1000 0 200 0 2000 0 0 30 0\n")
        _ = module.read(at: Self.at(3_700))
        host.set("/proc/stat", Self.stat(140, counters: 60))
        host.set("/proc/diskstats", "259 0 nvme0n1 101 0 1008 0 203 0 2016 0 0 34 0\n")
        let sample = module.read(at: Self.at(3_702))

        #expect(sample.intervalMicroseconds == 2_000_000)
        #expect(sample.cpu.user == 2_500 && sample.cpu.system == 2_500 && sample.cpu.idle == 5_000)
        #expect(sample.cores.map(\.number) == [0, 1])
        #expect(
            sample.activity.interrupts == 10 && sample.activity.contextSwitches == 20
                && sample.activity.processesCreated == 10)
        let disk = sample.blockDevices.first
        #expect(disk?.reads == 1 && disk?.writes == 3 && disk?.readBytes == 8 * 512 && disk?.writtenBytes == 16 * 512)
        #expect(disk?.busyMicroseconds == 4_000)
    }

    @Test
    func `a disk has what it did since it appeared, with merged operations and the time that all took`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        _ = module.read(at: Self.at(3_700))
        let disk = try #require(module.read(at: Self.at(3_701)).blockDevices.first { $0.name == "nvme0n1" })
        #expect(
            disk.total
                == .with {
                    $0.reads = 200_000
                    $0.mergedReads = 5_000
                    $0.readBytes = 16_000_000 * 512
                    $0.readMilliseconds = 30_000
                    $0.writes = 150_000
                    $0.mergedWrites = 90_000
                    $0.writtenBytes = 12_000_000 * 512
                    $0.writeMilliseconds = 80_000
                    $0.busyMilliseconds = 60_000
                })
        #expect(!disk.total.hasCountedMicroseconds, "since boot, as far as anybody knows")
        #expect(disk.size == 1_000_215_216 * 512)
    }

    @Test
    func `a disk that comes later counts since it came, and one that went back since then`() throws {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        func counted(_ second: UInt64) -> UInt64? {
            let disk = module.read(at: Self.at(second)).blockDevices.first
            return disk?.total.hasCountedMicroseconds == true ? disk?.total.countedMicroseconds : nil
        }
        host.set("/sys/block/sda/size", "1000\n")
        host.set("/proc/diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n")
        #expect(counted(3_700) == nil)
        host.set("/proc/diskstats", "8 0 sda 100 0 1000 0 200 0 2000 0 0 30 0\n")
        #expect(counted(3_710) == nil, "there is no increase yet")
        host.set("/proc/diskstats", "8 0 sda 101 0 1000 4294967295 200 0 2000 0 0 30 0\n")
        #expect(counted(3_720) == 20_000_000)
        host.set("/proc/diskstats", "8 0 sda 102 0 1000 3 200 0 2000 0 0 30 0\n")
        #expect(counted(3_730) == 30_000_000, "a time of 32 bits has wrapped")
        host.set("/proc/diskstats", "8 0 sda 1 0 8 3 0 0 0 0 0 1 0\n")
        #expect(counted(3_740) == nil, "nothing to compare with")
        #expect(counted(3_750) == 20_000_000)
        host.set("/sys/block/sda/size", "2000\n")
        host.set("/proc/diskstats", "8 16 sda 2 0 16 3 0 0 0 0 0 1 0\n")
        _ = counted(3_760)
        #expect(counted(3_770) == 20_000_000, "another disk of that name")
        #expect(module.read(at: Self.at(3_780)).blockDevices.first?.size == 2_000 * 512)
    }

    @Test
    func `a counter that went back gives no delta, and the next sample compares again`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        host.set("/proc/stat", Self.stat(1_000, counters: 500))
        host.set("/proc/diskstats", "259 0 nvme0n1 100 0 1000 0 200 0 2000 0 0 30 0\n")
        _ = module.read(at: Self.at(3_700))
        host.set("/proc/stat", Self.stat(10, counters: 5))
        host.set("/proc/diskstats", "259 0 nvme0n1 1 0 10 0 2 0 20 0 0 3 0\n")
        let back = module.read(at: Self.at(3_701))
        #expect(!back.hasCpu && back.cores.isEmpty && back.blockDevices.isEmpty)
        #expect(!back.activity.hasInterrupts && !back.activity.hasContextSwitches && back.activity.running == 1)
        host.set("/proc/stat", Self.stat(20, counters: 6))
        let again = module.read(at: Self.at(3_702))
        #expect(
            again.hasCpu && again.cores.count == 2 && again.activity.interrupts == 1 && again.blockDevices.count == 1)
    }

    @Test
    func `a core that came on line has no share until it was seen twice, and the identity says so at once`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        host.set("/proc/stat", Self.stat(100, cores: [0, 2], counters: 1))
        _ = module.read(at: Self.at(3_700))
        host.set("/proc/stat", Self.stat(200, cores: [0, 1, 2], counters: 2))
        let sample = module.read(at: Self.at(3_701))
        #expect(sample.cores.map(\.number) == [0, 2])
        #expect(sample.identity.logicalCores == 3)
    }

    @Test
    func `the identity comes first, then when it changes and every hour`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        #expect(module.read(at: Self.at(3_700)).hasIdentity)
        #expect(!module.read(at: Self.at(3_701)).hasIdentity)
        #expect(!module.read(at: Self.at(3_761)).hasIdentity)
        host.change { $0.systemName?.hostName = "renamed" }
        #expect(module.read(at: Self.at(3_822)).identity.hostName == "renamed")
        #expect(!module.read(at: Self.at(7_421)).hasIdentity)
        #expect(module.read(at: Self.at(7_422)).identity.hostName == "renamed")
    }

    @Test
    func `an odd file leaves its fields out and is traced once, and again when it is odd anew`() {
        let host = CapturedMachine.laptop.host()
        let log = RecordedLog()
        var module = Self.module(host, log)
        _ = module.read(at: Self.at(3_700))
        #expect(log.entries == [])

        host.set("/proc/meminfo", "nonsense\n")
        for second in 3_701...3_705 {
            let sample = module.read(at: Self.at(UInt64(second)))
            #expect(!sample.hasMemory && sample.hasCpu == false && sample.hasLoad)
        }
        #expect(log.entries == ["warning /proc/meminfo malformed"])
        host.change { $0.failures["/proc/meminfo"] = .denied }
        _ = module.read(at: Self.at(3_706))
        host.change { $0.failures = [:] }
        host.set("/proc/meminfo", "MemTotal:  1 kB\n")
        #expect(module.read(at: Self.at(3_707)).memory.total == 1_024)
        host.set("/proc/meminfo", "")
        _ = module.read(at: Self.at(3_708))
        #expect(
            log.entries == [
                "warning /proc/meminfo malformed", "warning /proc/meminfo denied", "warning /proc/meminfo malformed",
            ])
    }

    @Test
    func `a machine that shows nothing gives a sample without a single made-up value`() throws {
        let log = RecordedLog()
        var module = Self.module(CapturedHostSource(), log)
        for second in 100...103 {
            var sample = module.read(at: Self.at(UInt64(second)))
            sample.clearIdentity()
            sample.clearIntervalMicroseconds()
            sample.uptimeSeconds = 0
            #expect(sample == WireSystemSample())
        }
        #expect(Set(log.entries).count == log.entries.count, "each file once")
    }

    @Test
    func `firmware is asked every ten seconds at most`() {
        let host = CapturedMachine.laptop.host()
        var module = Self.module(host)
        for second in 0..<20 {
            let sample = module.read(at: Self.at(3_700 + UInt64(second)))
            #expect(sample.power.batteryLevel == 7_300 && sample.temperatures.count == 4)
        }
        #expect(host.reads(of: "/sys/class/power_supply/BAT0/uevent") == 2)
        #expect(host.reads(of: "/sys/class/hwmon/hwmon2/temp1_input") == 2)
    }

    @Test
    func `a result is a record's kind, module and bytes`() throws {
        var module = Self.module(CapturedMachine.laptop.host())
        guard case .sample(let sample) = module.sample(at: Self.at(3_700)) else {
            Issue.record("no sample")
            return
        }
        #expect(sample.kind == .sampleSystem && sample.module == "system")
        #expect(try WireSystemSample.decode(sample.body).identity.hostName == "anna-laptop")
    }

    @Test
    func `the machine at hand gives a plausible sample`() {
        let host = LinuxHostSource()
        var module = SystemModule(host: host, logger: RecordedLog().logger())
        _ = module.read(at: host.now())
        let sample = module.read(at: host.now())
        #expect(sample.uptimeSeconds > 0 && sample.intervalMicroseconds > 0)
        #expect(sample.memory.total > 64 * 1_024 * 1_024)
        #expect(sample.fileSystems.contains { $0.mountPoint == "/" && $0.size >= $0.used })
        #expect(
            sample.self_p.residentBytes > 1_000_000 && sample.self_p.openFiles > 2
                && sample.self_p.uptimeMicroseconds > 0)
        #expect(sample.cores.allSatisfy { $0.user + $0.idle <= 10_000 })
        #expect(host.bootID() != nil)
    }
}

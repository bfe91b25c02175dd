import DeviceTestKit
import Testing
import WireModel

@testable import SampleModules

@Suite("Parsers of kernel files")
struct ParserTests {
    private static func with<R>(_ text: String, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        Array(text.utf8).withUnsafeBytes(body)
    }

    private static func file(_ machine: CapturedMachine, _ path: String) -> [UInt8] {
        var buffer = FileBuffer()
        _ = machine.host().read(path, into: &buffer, maximumBytes: 1 << 20, keepOpen: false)
        return buffer.withBytes { Array($0) }
    }

    /// Parses every beginning of `bytes`; a fact read from it must be one of the whole file.
    private static func truncated<Fact: Hashable>(_ bytes: [UInt8], _ facts: (UnsafeRawBufferPointer) -> [Fact]) {
        let whole = Set(bytes.withUnsafeBytes(facts))
        #expect(!whole.isEmpty)
        var wrong = 0
        for count in 0..<bytes.count {
            let part = bytes.withUnsafeBytes { facts(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if !whole.isSuperset(of: part) { wrong += 1 }
        }
        #expect(wrong == 0, "beginnings that gave something else than the whole")
    }

    private static func facts(_ value: some Any, _ prefix: String = "") -> [String] {
        Mirror(reflecting: value).children.flatMap { child -> [String] in
            let label = "\(prefix).\(child.label ?? "")"
            if let list = child.value as? [Any] { return list.map { "\(label)=\($0)" } }
            let mirror = Mirror(reflecting: child.value)
            if mirror.displayStyle == .optional {
                return mirror.children.first.map { ["\(label)=\($0.value)"] } ?? []
            }
            return ["\(label)=\(child.value)"]
        }
    }

    @Test
    func `a file cut off at any byte gives only values that the whole file gives`() {
        Self.truncated(Self.file(.laptop, "/proc/stat")) { Self.facts(ProcStat($0)) }
        Self.truncated(Self.file(.laptop, "/proc/meminfo")) { Self.facts(MemInfo($0)) }
        Self.truncated(Self.file(.laptop, "/proc/loadavg")) { LoadAverageFile($0).map { Self.facts($0) } ?? [] }
        Self.truncated(Self.file(.laptop, "/proc/pressure/cpu")) { Self.facts(PressureFile($0)) }
        Self.truncated(Self.file(.laptop, "/proc/diskstats")) { Self.facts(DiskStats($0)) }
        Self.truncated(Self.file(.laptop, "/proc/self/mountinfo")) { Self.facts(MountInfo($0)) }
        Self.truncated(Self.file(.laptop, "/etc/os-release")) { Self.facts(OSRelease($0.wholeLines)) }
        Self.truncated(Self.file(.laptop, "/proc/cpuinfo")) { Self.facts(CPUInfo($0)) }
        Self.truncated(Self.file(.laptop, "/proc/self/stat")) { ProcSelfStat($0).map { Self.facts($0) } ?? [] }
        Self.truncated(Self.file(.laptop, "/proc/self/statm")) { ProcSelfMemory($0).map { Self.facts($0) } ?? [] }
        Self.truncated(Self.file(.laptop, "/proc/self/io")) { ProcSelfIO($0).map { Self.facts($0) } ?? [] }
        Self.truncated(Self.file(.laptop, "/proc/sys/kernel/random/boot_id")) {
            BootIDFile.parse($0).map { [$0] } ?? []
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `random bytes in place of some of a file crash nothing`(seed: UInt64) {
        var state = seed
        func random() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        for path in [
            "/proc/stat", "/proc/meminfo", "/proc/diskstats", "/proc/self/mountinfo",
            "/sys/class/power_supply/BAT0/uevent",
        ] {
            let original = Self.file(.laptop, path)
            for _ in 0..<200 {
                var bytes = original
                for _ in 0..<8 { bytes[Int(random()) % bytes.count] = UInt8(truncatingIfNeeded: random()) }
                bytes.withUnsafeBytes { bytes in
                    let stat = ProcStat(bytes)
                    if let all = stat.all { _ = all.shares(since: all, number: 0) }
                    _ = MemInfo(bytes)
                    _ = LoadAverageFile(bytes)
                    _ = PressureFile(bytes)
                    _ = DiskStats(bytes)
                    _ = MountInfo(bytes).selected()
                    _ = OSRelease(bytes)
                    _ = CPUInfo(bytes)
                    _ = ProcSelfStat(bytes)
                    _ = PowerSummary.power(of: [PowerSupplyEvent(bytes)])
                }
            }
        }
    }

    @Test
    func `a number over 64 bits is no number`() {
        #expect(
            Self.with("MemTotal: 18446744073709551615 kB\nMemFree: 99999999999999999999 kB\n") { MemInfo($0) }
                == Self.with("") { MemInfo($0) })
        #expect(Self.with("MemTotal: 12 MB\n") { MemInfo($0).total } == nil)
        #expect(Self.with("1.5 2.00 3.00 1/2 3\n") { LoadAverageFile($0) } == nil)
    }

    @Test
    func `shares add up to the whole, whatever the ticks`() {
        func times(_ ticks: [UInt64]) -> CPUTimes {
            CPUTimes(
                user: ticks[0], nice: ticks[1], system: ticks[2], idle: ticks[3], ioWait: ticks[4], irq: ticks[5],
                softIrq: ticks[6],
                steal: ticks[7])
        }
        let zero = times([0, 0, 0, 0, 0, 0, 0, 0])
        for ticks: [UInt64] in [
            [1, 1, 1, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 1, 0, 0, 0, 0], [333, 1, 1, 7, 0, 0, 99, 3],
        ] {
            let share = times(ticks).shares(since: zero, number: 5)
            let all = share.map { [$0.user, $0.nice, $0.system, $0.idle, $0.ioWait, $0.irq, $0.softIrq, $0.steal] }
            #expect(all?.reduce(0, +) == 10_000)
            #expect(share?.number == 5)
        }
        #expect(zero.shares(since: zero, number: 0) == nil)
        let most = times([.max, 0, 0, 0, 0, 0, 0, .max])
        #expect(most.shares(since: zero, number: 0) == nil)
        let wrapped = times([.max - 599, 0, 0, 5000, 0, 0, 0, 0])
        #expect(wrapped.shares(since: times([1000, 0, 0, 0, 0, 0, 0, 0]), number: 0) == nil)
        #expect(times([1, 1, 1, 1, 0, 1, 1, 1]).shares(since: times([0, 0, 0, 0, 1, 0, 0, 0]), number: 0) == nil)
    }

    @Test(arguments: [
        ("TYPE=Battery\nCAPACITY=101\nENERGY_NOW=50\nENERGY_FULL=100\n", 5_000 as UInt32?),
        ("TYPE=Battery\nCAPACITY=40\n", 4_000),
        ("TYPE=Battery\nCHARGE_NOW=120\nCHARGE_FULL=100\n", 10_000),
        ("TYPE=Battery\nENERGY_NOW=5\nENERGY_FULL=0\n", nil),
        ("TYPE=Battery\nPRESENT=0\nCAPACITY=40\n", nil),
    ])
    func `a second battery, a charger and an odd driver`(properties: String, level: UInt32?) {
        let text = properties.split(separator: "\n").map { "POWER_SUPPLY_\($0)\n" }.joined()
        let power = PowerSummary.power(of: [Self.with(text) { PowerSupplyEvent($0) }])
        #expect((power?.hasBatteryLevel == true ? power?.batteryLevel : nil) == level)
        #expect(power?.hasExternalPower != true && power?.hasCycleCount != true)
    }

    @Test(
        arguments: [
            ("ID=boardos\nVERSION_ID=\"9.1\"", "boardos", "9.1"), ("ID=x\r\nVERSION_ID='9.1'\r\n", "x", "9.1"),
            ("VERSION_ID=\"22.04\"\nID=ubuntu\nVERSION=\"22.04.5 LTS (Jammy Jellyfish)\"\n", "ubuntu", "22.04.5"),
            ("VERSION=\"12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n", "debian", "12"),
            ("VERSION=\"9.10 (Blue Onyx)\"\nID=rocky\nVERSION_ID=\"9.1\"\n", "rocky", "9.1"),
            ("VERSION=\"7.beta\"\nID=x\nVERSION_ID=7\n", "x", "7"), ("ID=arch\nVERSION=1.2", "arch", nil),
        ] as [(String, String, String?)])
    func `the version has its point release where os-release names it, and the last line counts without a newline`(
        content: String, identifier: String, version: String?
    ) {
        let release = Self.with(content) { OSRelease($0) }
        #expect(release.identifier == identifier && release.version == version)
    }

    @Test
    func `names that are not UTF-8 are told apart, and others stay as they are`() {
        func text(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { $0.distinctText } }
        for name in ["eth0", "💩0", "a'b", "x\\y", "größe", ""] { #expect(text(Array(name.utf8)) == name) }
        #expect(text(Array("wan".utf8) + [0xFF]) == "wan\u{FFFD}ff")
        #expect(text([0xF0, 0x9F, 0x92] + Array("0".utf8)) == "\u{FFFD}f0\u{FFFD}9f\u{FFFD}920")
        // All names of up to three of these bytes, among them the replacement character itself and what stands for it.
        let bytes: [UInt8] = [0xEF, 0xBF, 0xBD, 0xFF, 0xFE, UInt8(ascii: "f"), UInt8(ascii: "e"), 0xCC, 0x81]
        var names: [[UInt8]] = [[]]
        for _ in 0..<3 { names += names.flatMap { name in bytes.map { name + [$0] } } }
        let distinct = Set(names)
        #expect(Set(distinct.map(text)).count == distinct.count)
    }

    @Test
    func `a file that a container has from its host is no file system, and does not hide one`() {
        let info = Self.with(
            """
            1 0 0:40 / / rw - overlay overlay rw
            2 1 8:1 /containers/hosts /etc/hosts rw - ext4 /dev/sda1 rw
            3 1 8:1 /volumes/data /var/lib/data rw - ext4 /dev/sda1 rw
            4 1 8:17 /secrets/token /run/token rw - ext4 /dev/sdb1 rw

            """
        ) { MountInfo($0) }
        let selected = info.selected { ["/", "/var/lib/data"].contains($0) }
        #expect(selected.map(\.mountPoint) == ["/", "/var/lib/data"])
    }

    @Test
    func `a mount point may hold blanks, and a mount covered by another is not asked`() {
        let info = Self.with(
            """
            1 0 8:1 / / rw - ext4 /dev/sda1 rw
            2 1 8:17 / /media/A\\040B\\134 ro,nosuid shared:1 - vfat /dev/sdb1 ro,errors=remount-ro
            3 1 8:33 / /mnt/disk rw - ext4 /dev/sdc1 rw
            4 1 0:50 / /mnt rw - nfs server:/x rw
            garbage

            """
        ) { MountInfo($0) }
        #expect(info.oddLines == 1)
        #expect(info.selected().map(\.mountPoint) == ["/", "/media/A B\\"])
        #expect(info.selected().map(\.readOnly) == [false, true])
    }

    @Test
    func `a file system of which a sandbox makes its mounts read-only is told as writable`() {
        let info = Self.with(
            """
            1 0 8:1 / / ro,relatime shared:1 - ext4 /dev/sda1 rw
            2 1 8:17 / /data ro shared:2 - xfs /dev/sdb1 rw,attr2
            3 1 8:33 / /failed rw shared:3 - ext4 /dev/sdc1 ro

            """
        ) { MountInfo($0) }
        #expect(info.selected().map(\.mountPoint) == ["/", "/data", "/failed"])
        #expect(info.selected().map(\.readOnly) == [false, false, true])
    }
}

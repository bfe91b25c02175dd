import SampleModules

/// The captured machines in `Machines/`: one text file each.
///
/// It begins with lines `@uname`, `@process`, `@time`, `@statvfs` and `@link`, whose words are the fields of the types
/// they fill in their order, and those of `CapturedNetwork+Parsing.swift`; then follows each file of the machine behind
/// a line `=== /path`, or `==0 /path` for one that ends with a NUL in place of a line end, as a device tree's do.
package enum CapturedMachine: String, CaseIterable, Sendable {
    /// A laptop of eight cores with a battery, an encrypted disk, swap, subvolumes and network mounts.
    case laptop
    /// A server with 64 cores, 24 disks, no battery, network mounts and containers, bonds, VLANs and bridges.
    case server
    /// A small ARM board with a device tree, an SD card, wired and wireless network, and no power supply that it knows
    /// of.
    case board

    package func host() -> CapturedHostSource {
        let folder = (#filePath as String).split(separator: "/").dropLast().joined(separator: "/")
        let path = "/\(folder)/Machines/\(rawValue).capture"
        let linux = LinuxHostSource()
        var buffer = FileBuffer()
        let outcome = linux.read(path, into: &buffer, maximumBytes: 16 * 1024 * 1024, keepOpen: false)
        precondition(outcome == .complete, "cannot read the captured machine \(path): \(outcome)")
        return CapturedHostSource(Self.parse(buffer.withBytes { String(decoding: $0, as: UTF8.self) }))
    }

    static func parse(_ capture: String) -> CapturedHostSource.Machine {
        var machine = CapturedHostSource.Machine()
        var path: String?
        var end: UInt8 = 0x0a
        for line in capture.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if line.hasPrefix("=== ") || line.hasPrefix("==0 ") {
                path = String(line.dropFirst(4))
                end = line.hasPrefix("==0 ") ? 0 : 0x0a
                machine.files[String(line.dropFirst(4))] = []
            } else if let path {
                machine.files[path]?.append(contentsOf: line.utf8)
                machine.files[path]?.append(end)
            } else {
                addDirective(line.split(separator: " ").map(String.init), to: &machine)
            }
        }
        return machine
    }

    private static func addDirective(_ words: [String], to machine: inout CapturedHostSource.Machine) {
        func number(_ index: Int) -> UInt64 {
            guard words.indices.contains(index), let number = UInt64(words[index]) else {
                preconditionFailure("word \(index) of \(words) in a captured machine is no number")
            }
            return number
        }
        var network = machine.network ?? CapturedNetwork()
        if network.add(words) {
            machine.network = network
            return
        }
        switch words.first {
        case "@uname":
            machine.systemName = SystemName(
                kernelName: words[1], hostName: words[2], kernelRelease: words[3], architecture: words[4])
        case "@process":
            machine.process = ProcessFigures(
                cpuTimeMicroseconds: number(1), userMicroseconds: words.count > 5 ? number(5) : nil,
                systemMicroseconds: words.count > 6 ? number(6) : nil, openFiles: UInt32(number(2)),
                pageSize: number(3), ticksPerSecond: number(4))
        case "@time":
            machine.time = SampleTime(wallMicroseconds: Int64(number(1)), sinceBootMicroseconds: number(2))
        case "@statvfs":
            machine.fileSystems[words[1]] = FileSystemFigures(
                blockSize: number(2), blocks: number(3), blocksFree: number(4), blocksAvailable: number(5),
                inodes: number(6),
                inodesFree: number(7))
        case "@link":
            machine.links[words[1]] = words[2]
        default:
            preconditionFailure("unknown line in a captured machine: \(words)")
        }
    }
}

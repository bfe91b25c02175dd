import FoundationEssentials
import WireModel

/// The identity of the machine. Values that cannot change while the process runs are read once, others at each reading.
struct SystemIdentityReader: Sendable {
    private struct Fixed: Sendable {
        var bootID: Data
        var cpuModel: String
        var model: String
        var vendor: String
    }

    private var fixed: Fixed?

    mutating func read(_ reader: inout FileReader, stat: ProcStat?) -> WireSystemIdentity {
        let fixed = self.fixed ?? Self.readFixed(&reader)
        self.fixed = fixed

        var identity = WireSystemIdentity()
        identity.bootID = fixed.bootID
        identity.cpuModel = fixed.cpuModel
        identity.model = fixed.model
        identity.vendor = fixed.vendor
        if let stat {
            identity.logicalCores = UInt32(stat.cores.count)
            if let seconds = stat.bootTime, seconds <= UInt64(Int64.max) / 1_000_000 {
                identity.bootTime = Int64(seconds) * 1_000_000
            }
        }
        var system = WireOperatingSystem()
        if let name = reader.host.systemName() {
            identity.hostName = name.hostName
            system.name = name.kernelName.lowercased()
            system.kernel = name.kernelRelease
            system.architecture = name.architecture
        }
        if let release = Self.release(&reader) {
            system.distribution = release.identifier ?? ""
            system.version = Self.version(release, &reader)
        }
        identity.operatingSystem = system
        return identity
    }

    private static func release(_ reader: inout FileReader) -> OSRelease? {
        for (index, path) in OSRelease.paths.enumerated() {
            let isLast = index == OSRelease.paths.count - 1
            if let release = reader.parse(path, maximumBytes: 16 * 1024, traced: isLast, { OSRelease($0) }) {
                return release
            }
        }
        return nil
    }

    private static func version(_ release: OSRelease, _ reader: inout FileReader) -> String {
        guard release.isLikeDebian else { return release.version ?? "" }
        let file = reader.parse(OSRelease.debianPath, maximumBytes: 256, traced: false) {
            WrittenLines($0).first { _ in true }?.trimmed.text
        }
        return release.version(naming: file) ?? ""
    }

    private static func readFixed(_ reader: inout FileReader) -> Fixed {
        let bootID = reader.parse(BootIDFile.path, maximumBytes: 64) { BootIDFile.parse($0) }
        let processor = reader.parse(CPUInfo.path, maximumBytes: CPUInfo.maximumBytes, traced: false) { CPUInfo($0) }
        // Boards with a device tree (most of ARM) have no DMI tables.
        let vendor = reader.line("/sys/class/dmi/id/sys_vendor")
        var model = reader.line("/sys/class/dmi/id/product_name") ?? reader.deviceTreeText("/proc/device-tree/model")
        // Lenovo puts the machine type into the product's name, and the name that people know into its version.
        if vendor?.uppercased() == "LENOVO", let name = reader.line("/sys/class/dmi/id/product_version"),
            isModelName(name)
        {
            model = model.map { $0 == name ? name : "\(name) (\($0))" } ?? name
        }
        return Fixed(
            bootID: bootID?.data ?? Data(), cpuModel: processor?.model ?? "", model: model ?? "", vendor: vendor ?? "")
    }

    /// Names have several words. Firmware that was not filled in has words of its own.
    private static func isModelName(_ text: String) -> Bool {
        let placeholders = ["not available", "not specified", "not applicable", "default string", "system version"]
        let folded = text.lowercased()
        return folded.contains(" ") && !placeholders.contains(folded) && !folded.hasPrefix("to be filled")
    }
}

extension WireSystemIdentity {
    /// Whether a person would see another state of the machine. The boot time may differ by a second, because the
    /// kernel derives it from a clock that is being corrected.
    func differs(from other: WireSystemIdentity) -> Bool {
        var same = other
        if bootTime.distance(to: other.bootTime).magnitude <= 2_000_000 { same.bootTime = bootTime }
        return self != same
    }
}

extension FileReader {
    /// Text in a device tree ends with a NUL, not with a newline.
    fileprivate mutating func deviceTreeText(_ path: String) -> String? {
        parse(path, maximumBytes: 4_096, traced: false) { bytes in
            let text = bytes.trimmed
            return bytes.last == 0 && !text.isEmpty ? text.text : nil
        }
    }
}

/// The processor's name in `/proc/cpuinfo`. Only the first entry is read. On large machines the whole file has
/// megabytes, and each core is asked for its frequency.
struct CPUInfo: Equatable {
    static let path = "/proc/cpuinfo"
    static let maximumBytes = 4 * 1024

    var model: String?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            // x86, some ARM and LoongArch; MIPS; POWER and SPARC.
            guard
                scanner.consume("model name") || scanner.consume("Model Name") || scanner.consume("cpu model")
                    || scanner.consume("cpu\t")
            else {
                continue
            }
            scanner.skipBlanks()
            guard scanner.consume(":") else { continue }
            let name = scanner.rest().trimmed
            guard !name.isEmpty else { continue }
            model = name.text
            return
        }
    }
}

/// `os-release(5)`: the distribution's name and version.
///
/// `VERSION_ID` does not always name the point release. Ubuntu names it in `VERSION`, and Debian in a file of its own.
struct OSRelease: Equatable {
    /// The paths in the order of the specification.
    static let paths = ["/etc/os-release", "/usr/lib/os-release"]

    /// Debian's own version: `12.11`; before a release `trixie/sid`.
    static let debianPath = "/etc/debian_version"

    var identifier: String?
    /// The version with the point release, if the file names it.
    var version: String?
    /// Distributions that this one is made from.
    var families: [String] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        var longVersion: String?
        for line in WrittenLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("ID=") {
                identifier = Self.value(scanner.rest())
            } else if scanner.consume("VERSION_ID=") {
                version = Self.value(scanner.rest())
            } else if scanner.consume("VERSION=") {
                longVersion = Self.value(scanner.rest())
            } else if scanner.consume("ID_LIKE=") {
                families = Self.value(scanner.rest())?.split(separator: " ").map(String.init) ?? []
            }
        }
        version = version(naming: longVersion)
    }

    var isLikeDebian: Bool { identifier == "debian" || families.contains("debian") }

    /// The version with the point release, if the text begins with it.
    func version(naming text: String?) -> String? {
        guard let version, let word = text?.split(separator: " ").first, word.hasPrefix("\(version)."),
            word.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2e })
        else { return version }
        return String(word)
    }

    /// Removes shell quoting, as far as identifiers and versions use it.
    private static func value(_ raw: UnsafeRawBufferPointer) -> String? {
        var value = raw.trimmed
        if value.count >= 2, let quote = value.first, quote == 0x22 || quote == 0x27, value.last == quote {
            value = UnsafeRawBufferPointer(rebasing: value[1..<(value.count - 1)])
        }
        return value.isEmpty ? nil : value.text
    }
}

/// `/proc/sys/kernel/random/boot_id`: the random identifier of this boot.
enum BootIDFile {
    static let path = "/proc/sys/kernel/random/boot_id"

    /// A UUID and a newline. Without the newline the text was cut off.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> BootID? {
        bytes.last == 0x0a ? BootID(bytes.trimmed.text) : nil
    }
}

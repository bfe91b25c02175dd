import SampleModules
import TelemetryBasics

/// Finds system paths that somebody other than root owns or may write. Who can write one becomes root at the next boot
/// or login.
///
/// `/usr/local` is left out, because distributions give it to a group of administrators on purpose.
struct SystemPathDetector: CompromiseDetector {
    static let paths = [
        "/", "/bin", "/boot", "/etc", "/lib", "/lib64", "/root", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64",
        "/usr/sbin",
        "/etc/crontab", "/etc/group", "/etc/ld.so.conf", "/etc/ld.so.preload", "/etc/pam.d", "/etc/passwd",
        "/etc/profile", "/etc/shadow",
        "/etc/ssh", "/etc/sudoers", "/etc/systemd/system", "/var/spool/cron",
    ]
    /// The kernel shows this id for owners outside of this user namespace. Their identity cannot be determined from
    /// inside.
    static let overflowIdentifier: UInt32 = 65_534
    private static let groupWrite: UInt32 = 0o020
    private static let otherWrite: UInt32 = 0o002
    private static let sticky: UInt32 = 0o1000

    let name = BuiltInDetector.systemPathWritable.rawValue
    let host: any HostSource
    var paths = Self.paths

    func examine() -> CompromiseFinding? {
        var signs: [String] = []
        var seen = 0
        var absent = 0
        var unclear: [String] = []
        for path in paths {
            guard let status = host.fileStatus(path) else {
                absent += 1
                continue
            }
            if let sign = Self.sign(path, status) {
                signs.append(sign)
            } else if status.owner == Self.overflowIdentifier || Self.isUnclearGroup(status) {
                unclear.append(path)
            } else {
                seen += 1
            }
        }
        if !signs.isEmpty { return CompromiseFinding(.yes, evidence: signs.joined(separator: "; ")) }
        guard unclear.isEmpty, seen > 0 else {
            let why =
                unclear.isEmpty
                ? "no system path could be read" : "the owner is unknown: \(unclear.joined(separator: ", "))"
            return CompromiseFinding(.unknown, evidence: why)
        }
        return CompromiseFinding(
            .no,
            evidence: "system paths (\(seen)) belong to root and only root may write them"
                + (absent == 0 ? "" : "; without \(CountText.of(absent, "path")) that cannot be read"))
    }

    private static func sign(_ path: String, _ status: FileStatus) -> String? {
        let mode = String(status.mode & 0o7777, radix: 8)
        // In a sticky directory others may add files, but not change those of somebody else.
        if status.mode & otherWrite != 0, status.mode & sticky == 0 {
            return "\(path) may be written by everybody (mode \(mode))"
        }
        if status.owner != 0, status.owner != overflowIdentifier {
            return "\(path) belongs to user \(status.owner), not to root"
        }
        if status.mode & groupWrite != 0, status.mode & sticky == 0, status.group != 0,
            status.group != overflowIdentifier
        {
            return "\(path) may be written by group \(status.group) (mode \(mode))"
        }
        return nil
    }

    private static func isUnclearGroup(_ status: FileStatus) -> Bool {
        status.mode & groupWrite != 0 && status.mode & sticky == 0 && status.group == overflowIdentifier
    }
}

/// Whether EFI firmware starts only signed systems. A machine without EFI (boards, containers, many virtual machines)
/// has nothing to examine.
///
/// Source: the variables SecureBoot and SetupMode of the UEFI specification in efivarfs: four bytes of attributes, then
/// one byte with the value.
struct SecureBootDetector: CompromiseDetector {
    static let firmwarePath = "/sys/firmware/efi"
    static let secureBootPath = "\(variables)/SecureBoot-\(globalVariable)"
    static let setupModePath = "\(variables)/SetupMode-\(globalVariable)"
    private static let variables = "\(firmwarePath)/efivars"
    private static let globalVariable = "8be4df61-93ca-11d2-aa0d-00e098032b8c"

    let name = BuiltInDetector.secureBootDisabled.rawValue
    let host: any HostSource

    func examine() -> CompromiseFinding? {
        guard host.list(Self.firmwarePath, maximumEntries: 1) != nil else { return nil }
        guard let secureBoot = flag(Self.secureBootPath) else {
            return CompromiseFinding(.unknown, evidence: "the firmware's variable SecureBoot could not be read")
        }
        guard secureBoot else { return CompromiseFinding(.yes, evidence: "secure boot is off (SecureBoot 0)") }
        // In setup mode anybody can enroll keys.
        if flag(Self.setupModePath) == true {
            return CompromiseFinding(.yes, evidence: "secure boot is in setup mode (SetupMode 1)")
        }
        return CompromiseFinding(.no, evidence: "secure boot is on (SecureBoot 1)")
    }

    private func flag(_ path: String) -> Bool? {
        var buffer = FileBuffer(capacity: 16)
        guard host.read(path, into: &buffer, maximumBytes: 16, keepOpen: false) == .complete else { return nil }
        return buffer.withBytes { bytes in
            guard bytes.count == 5, bytes[4] <= 1 else { return nil }
            return bytes[4] == 1
        }
    }
}

/// Whether a debugger or tracer is attached to this process. Source: `TracerPid` in `/proc/self/status`.
struct TracerDetector: CompromiseDetector {
    static let statusPath = "/proc/self/status"

    let name = BuiltInDetector.tracerAttached.rawValue
    let host: any HostSource

    func examine() -> CompromiseFinding? {
        guard case .text(let text) = host.text(Self.statusPath, maximumBytes: 64 * 1024), let tracer = Self.tracer(text)
        else { return CompromiseFinding(.unknown, evidence: "TracerPid could not be read from \(Self.statusPath)") }
        guard tracer != 0 else { return CompromiseFinding(.no, evidence: "no tracer is attached (TracerPid 0)") }
        var program = ""
        if case .text(let name) = host.text("/proc/\(tracer)/comm", maximumBytes: 64), name.hasSuffix("\n") {
            program = " (\(name.dropLast()))"
        }
        return CompromiseFinding(.yes, evidence: "process \(tracer)\(program) traces this one")
    }

    private static func tracer(_ text: String) -> UInt64? {
        let key = "TracerPid:"
        // A last line without newline may lack digits.
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() where line.hasPrefix(key) {
            return UInt64(line.dropFirst(key.count).drop { $0 == "\t" || $0 == " " })
        }
        return nil
    }
}

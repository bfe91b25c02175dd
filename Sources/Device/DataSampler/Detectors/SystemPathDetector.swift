import SampleModules

/// System paths that others than root own or may write: whoever may write one becomes root at the next boot or login.
///
/// `/usr/local` is left out: distributions give it to a group of administrators on purpose.
struct SystemPathDetector: CompromiseDetector {
    static let paths = [
        "/", "/bin", "/boot", "/etc", "/lib", "/lib64", "/root", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin",
        "/etc/crontab", "/etc/group", "/etc/ld.so.conf", "/etc/ld.so.preload", "/etc/pam.d", "/etc/passwd", "/etc/profile", "/etc/shadow",
        "/etc/ssh", "/etc/sudoers", "/etc/systemd/system", "/var/spool/cron",
    ]
    /// Whom the kernel shows for an owner outside of this user namespace: who that is cannot be told from in here.
    static let overflowIdentifier: UInt32 = 65_534
    private static let groupWrite: UInt32 = 0o020
    private static let otherWrite: UInt32 = 0o002
    private static let sticky: UInt32 = 0o1000

    let name = BuiltInDetector.systemPathWritable.rawValue
    private let host: any HostSource

    init(host: any HostSource) { self.host = host }

    func examine() -> CompromiseFinding? {
        var signs: [String] = []
        var seen = 0
        var unclear: [String] = []
        for path in Self.paths {
            guard let status = host.fileStatus(path) else { continue }
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
                unclear.isEmpty ? "no system path could be looked at" : "whose it is cannot be told: \(unclear.joined(separator: ", "))"
            return CompromiseFinding(.unknown, evidence: why)
        }
        return CompromiseFinding(.no, evidence: "\(seen) system paths belong to root and only root may write them")
    }

    private static func sign(_ path: String, _ status: FileStatus) -> String? {
        let mode = String(status.mode & 0o7777, radix: 8)
        // In a sticky directory others may add files, and touch nobody else's.
        if status.mode & otherWrite != 0, status.mode & sticky == 0 { return "\(path) may be written by everybody (mode \(mode))" }
        if status.owner != 0, status.owner != overflowIdentifier { return "\(path) belongs to user \(status.owner), not to root" }
        if status.mode & groupWrite != 0, status.mode & sticky == 0, status.group != 0, status.group != overflowIdentifier {
            return "\(path) may be written by group \(status.group) (mode \(mode))"
        }
        return nil
    }

    private static func isUnclearGroup(_ status: FileStatus) -> Bool {
        status.mode & groupWrite != 0 && status.mode & sticky == 0 && status.group == overflowIdentifier
    }
}

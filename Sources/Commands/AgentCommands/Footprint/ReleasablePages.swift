/// Which parts of this process's memory can be given back at any time because they are read again from their files when they are touched.
///
/// Only what is mapped from a file, cannot be written to, and has no page of its own (`Anonymous: 0 kB`) is among them. So neither
/// relocated data that was made read-only afterwards nor a page in which a debugger has set a breakpoint can ever be lost.
enum ReleasablePages {
    /// Addresses, from the text of `/proc/self/smaps` (proc_pid_smaps(5)).
    static func ranges(smaps text: some StringProtocol) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        var mapping: Range<UInt>?
        for line in text.split(separator: "\n") {
            if let header = Header(line) {
                mapping = header.isReadOnlyFile ? header.addresses : nil
            } else if let range = mapping {
                let fields = line.split(separator: " ")
                switch fields.first {
                case "Anonymous:" where fields.dropFirst().first != "0", "Locked:" where fields.dropFirst().first != "0": mapping = nil
                case "VmFlags:":
                    // The last line of a mapping.
                    ranges.append(range)
                    mapping = nil
                default: break
                }
            }
        }
        return ranges
    }

    /// The first line of a mapping: `55d0c0a00000-55d0c0c00000 r-xp 00001000 fe:00 1234 /usr/bin/ws1agent`.
    private struct Header {
        var addresses: Range<UInt>
        var isReadOnlyFile: Bool

        init?(_ line: some StringProtocol) {
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count >= 5, let dash = fields[0].firstIndex(of: "-"),
                let start = UInt(fields[0][..<dash], radix: 16), let end = UInt(fields[0][fields[0].index(after: dash)...], radix: 16),
                start < end
            else { return nil }
            addresses = start..<end
            let permissions = Array(fields[1])
            isReadOnlyFile =
                permissions.count == 4 && permissions[0] == "r" && permissions[1] == "-" && permissions[3] == "p" && fields[4] != "0"
        }
    }
}

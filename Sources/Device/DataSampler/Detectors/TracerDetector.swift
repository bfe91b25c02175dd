import SampleModules

/// Whether a debugger or tracer is attached to this process. Source: `TracerPid` in `/proc/self/status`.
struct TracerDetector: CompromiseDetector {
    static let statusPath = "/proc/self/status"

    let name = BuiltInDetector.tracerAttached.rawValue
    private let host: any HostSource

    init(host: any HostSource) { self.host = host }

    func examine() -> CompromiseFinding? {
        guard case .text(let text) = host.text(Self.statusPath, maximumBytes: 64 * 1024), let tracer = Self.tracer(text) else {
            return CompromiseFinding(.unknown, evidence: "TracerPid could not be read from \(Self.statusPath)")
        }
        guard tracer != 0 else { return CompromiseFinding(.no, evidence: "no tracer is attached (TracerPid 0)") }
        var program = ""
        if case .text(let name) = host.text("/proc/\(tracer)/comm", maximumBytes: 64), name.hasSuffix("\n") {
            program = " (\(name.dropLast()))"
        }
        return CompromiseFinding(.yes, evidence: "process \(tracer)\(program) traces this one")
    }

    private static func tracer(_ text: String) -> UInt64? {
        let key = "TracerPid:"
        // A last line without its end may lack digits.
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() where line.hasPrefix(key) {
            return UInt64(line.dropFirst(key.count).drop { $0 == "\t" || $0 == " " })
        }
        return nil
    }
}

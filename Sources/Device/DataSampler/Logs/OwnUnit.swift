import TelemetryBasics

/// The service of systemd in which this process runs.
enum OwnUnit {
    /// Such as `ws1agent.service`; `nil` outside of a service.
    static let name: String? = {
        guard let bytes = try? Files<FileError>.read("/proc/self/cgroup", maximumBytes: 64 << 10) else { return nil }
        return name(in: String(decoding: bytes, as: UTF8.self))
    }()

    /// - Parameter text: as in cgroups(7): `0::/system.slice/ws1agent.service`.
    static func name(in text: String) -> String? {
        for line in text.split(separator: "\n") {
            let path = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
            // A service may have made groups of its own below.
            if let unit = path.split(separator: "/").last(where: { $0.hasSuffix(".service") }) { return String(unit) }
        }
        return nil
    }
}

import Foundation

/// What this process costs, from /proc. Empty where there is none.
enum ProcessFigures {
    static func samples() -> [PrometheusSample] {
        var samples: [PrometheusSample] = []
        func add(_ name: String, _ value: Double?) {
            if let value { samples.append(PrometheusSample(name, value: value)) }
        }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        // The name, in parentheses, may hold spaces: fields are counted behind it. proc(5) has their numbers; the first here is the third there.
        if let stat = text("/proc/self/stat"), let end = stat.lastIndex(of: ")") {
            let fields = stat[stat.index(after: end)...].split(separator: " ")
            if fields.count > 21, let user = Double(fields[11]), let system = Double(fields[12]) {
                add("process_cpu_seconds_total", (user + system) / ticks)
                let boot = text("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
                if let boot, let start = Double(fields[19]) { add("process_start_time_seconds", boot + start / ticks) }
                if let pages = Double(fields[21]) { add("process_resident_memory_bytes", pages * Double(getpagesize())) }
            }
        }
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        add("process_open_fds", descriptors.map(Double.init))
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 { add("process_max_fds", Double(limit.rlim_cur)) }
        return samples
    }

    private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}

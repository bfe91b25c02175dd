import CSQLite
import Foundation

/// Where the figures come from: without it they say nothing.
struct Machine: Codable {
    var processor: String
    var cores: Int
    var kernel: String
    var sqlite: String
    /// Type of the file system written to.
    var fileSystem: String

    static func current(directory: String) -> Machine {
        let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
        let release = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
        return Machine(
            processor: model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor",
            cores: ProcessInfo.processInfo.activeProcessorCount,
            kernel: release?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown kernel",
            sqlite: String(cString: sqlite3_libversion()), fileSystem: fileSystem(of: directory))
    }

    /// The file system by the longest mount point that holds the directory.
    private static func fileSystem(of directory: String) -> String {
        let path = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        var found: (point: Substring, type: Substring)?
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[1] == "/" || path == fields[1] || path.hasPrefix("\(fields[1])/") else {
                continue
            }
            if fields[1].count >= found?.point.count ?? 0 { found = (fields[1], fields[2]) }
        }
        guard let type = found?.type else { return "unknown file system" }
        return type == "tmpfs" ? "tmpfs (memory: syncs cost nothing here, choose another --directory)" : String(type)
    }
}

#if canImport(Glibc)
import Glibc

/// What Swift's own backtracer leaves: with `SWIFT_BACKTRACE=enable=yes,output-to=PATH` a file `<program>-<process>-<time>.log` in a directory, or
/// the file itself (docs/Backtracing.rst of the Swift project).
enum Backtraces {
    /// Longer ones are cut.
    static let maximumBytes = 256 * 1024

    /// The path in `SWIFT_BACKTRACE`; `nil`: it is not enabled, or writes to a stream.
    static func path(from environment: String?) -> String? {
        var settings: [Substring: Substring] = [:]
        for setting in (environment ?? "").split(separator: ",") {
            let parts = setting.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { settings[parts[0]] = parts[1] }
        }
        guard ["yes", "on", "true", "y", "t", "1", "tty"].contains(settings["enable"] ?? "yes"), let path = settings["output-to"],
            path.contains("/")
        else { return nil }
        return String(path)
    }

    /// The newest backtrace of a process that was written since it started; `nil`: there is none.
    static func read(of session: SessionRecord) -> String? {
        guard let path = session.backtraces else { return nil }
        var candidates = [path]
        if let directory = opendir(path) {
            defer { closedir(directory) }
            candidates = []
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name.contains("-\(session.process)-"), name.hasSuffix(".log") { candidates.append("\(path)/\(name)") }
            }
        }
        let files = candidates.compactMap { file -> (time: Int64, path: String)? in
            var status = stat()
            guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            let time = Int64(status.st_mtim.tv_sec) * 1_000_000 + Int64(status.st_mtim.tv_nsec) / 1000
            return time >= session.started ? (time, file) : nil
        }
        return files.max { $0.time < $1.time }.flatMap { contents($0.path) }
    }

    private static func contents(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + filled, $0.count - filled) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            filled += count
        }
        return filled == 0 ? nil : String(decoding: bytes[..<filled], as: UTF8.self)
    }
}
#endif

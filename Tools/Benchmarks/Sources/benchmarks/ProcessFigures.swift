import Foundation
import Glibc

/// The figures of a running process so far, as the kernel counts them.
struct ProcessFigures: Sendable {
    /// Seconds of processor time, user and system, of all its threads, those that have ended included.
    var processorSeconds: Double
    /// Bytes of its mappings that are in memory, files it shares with the page cache included.
    var residentBytes: Int
    /// The resident bytes that are its alone and exist nowhere else: heap, stacks, and pages of files that it has
    /// changed (relocations).
    var privateBytes: Int
    /// Bytes of pages it has made dirty for storage.
    var writtenBytes: Int

    init(of process: pid_t) throws {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            throw BenchmarkError("process \(process) cannot be measured: it has ended")
        }
        processorSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        residentBytes = try Self.number("Rss:", of: "/proc/\(process)/smaps_rollup") * 1024
        privateBytes = try Self.number("Private_Dirty:", of: "/proc/\(process)/smaps_rollup") * 1024
        writtenBytes = try Self.number("write_bytes:", of: "/proc/\(process)/io")
    }

    private static func number(_ name: String, of path: String) throws -> Int {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        guard let number = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw BenchmarkError("\(path) has no \(name)")
        }
        return number
    }
}

import Foundation
import Glibc

/// Processor time, user and system, all threads.
enum ProcessorTime {
    /// The processor time of this process.
    static var microseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// Seconds of a process since it started, with its children that have ended.
    static func seconds(of process: pid_t) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        // The name in parentheses may hold anything; after it comes field 3.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst()
        let ticks = fields.dropFirst(11).prefix(4).compactMap { Double($0) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The same, with the children that run.
    static func secondsOfFamily(of process: pid_t) -> Double {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        let children = tasks.flatMap { task in
            ((try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)) ?? "")
                .split(separator: " ").compactMap { pid_t($0) }
        }
        return children.reduce(seconds(of: process)) { $0 + secondsOfFamily(of: $1) }
    }
}

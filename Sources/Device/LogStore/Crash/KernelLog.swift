#if canImport(Glibc)
import Glibc

/// The kernel's log, `/dev/kmsg`, as far as it is kept and may be read.
enum KernelLog {
    /// A record is `priority,sequence,microseconds,flags;message`, then lines that begin with a space.
    static func message(of record: String) -> Substring? {
        let line = record.prefix { $0 != "\n" }
        guard let semicolon = line.firstIndex(of: ";") else { return nil }
        return line[line.index(after: semicolon)...]
    }

    /// Whether a message tells of the end of a process: the out-of-memory killer's, a fault's or a trap's.
    static func tells(_ message: some StringProtocol, of process: Int32) -> Bool {
        message.contains("Killed process \(process) ") || message.contains("[\(process)]: segfault at ")
            || message.contains("traps: ") && message.contains("[\(process)] ")
    }

    /// What is kept of such messages, oldest first; empty where the log may not be read.
    static func messages(of process: Int32, path: String = "/dev/kmsg") -> [String] {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 8192)
        var found: [String] = []
        // Each read gives one record; EPIPE: one was written over meanwhile.
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EPIPE || errno == EINTR { continue }
            guard count > 0 else { return found }
            let record = String(decoding: buffer[..<count], as: UTF8.self)
            if let message = message(of: record), tells(message, of: process) { found.append(String(message)) }
        }
    }
}
#endif

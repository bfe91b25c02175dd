import Glibc
import TelemetryBasics

/// Records in a session's marker how its program ended. The next program that opens the store uses it in the crash log.
package enum SessionEnding {
    /// - Parameters:
    ///   - code, status, result: systemd's `$EXIT_CODE`, `$EXIT_STATUS` and `$SERVICE_RESULT`.
    ///   - application: the name of the program that ended.
    /// - Returns: whether there was a marker to record it in. After an orderly end there is none.
    package static func record(
        code: String, status: String, result: String, application: String, in directory: StoreDirectory
    ) throws(LogStoreError) -> Bool {
        try record(
            SessionRecord.Exit(code: code, status: status, result: result), of: application,
            bootID: SystemClock.bootID(), in: directory)
    }

    /// - Parameter bootID: of the present boot. Sessions of an earlier boot did not end this way.
    static func record(
        _ exit: SessionRecord.Exit, of application: String, bootID: String?, in directory: StoreDirectory
    ) throws(LogStoreError) -> Bool {
        do {
            let lock = try directory.lock()
            defer { lock.release() }
            let ordinals = try directory.names().compactMap { SessionMarker.ordinal(of: $0) }
            for ordinal in ordinals.sorted(by: >) {
                if try record(exit, of: application, bootID, in: directory.path(SessionMarker.name(ordinal))) {
                    return true
                }
            }
            return false
        } catch {
            // Without a store there is no session.
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    private static func record(
        _ exit: SessionRecord.Exit, of application: String, _ bootID: String?, in path: String
    ) throws(LogStoreError) -> Bool {
        var file = try OpenFile<LogStoreError>(path, O_RDWR | O_APPEND | O_NOFOLLOW)
        // The program runs, or another process is writing its crash log.
        guard try file.lock() else { return false }
        let text = String(decoding: try file.readWhole(maximumBytes: CrashReporter.maximumMarkerBytes), as: UTF8.self)
        guard let session = SessionRecord(reading: text), session.application == application, session.exit == nil,
            session.bootID == bootID
        else { return false }
        // Ends a line that was cut off when the program died.
        try file.write(Array(((text.hasSuffix("\n") ? "" : "\n") + SessionRecord.exitLine(exit)).utf8))
        try file.sync()
        return true
    }
}

/// Reads the kernel's log, `/dev/kmsg`, as far back as the kernel keeps it and if this process may read it.
enum KernelLog {
    /// The message of a record. A record is `priority,sequence,microseconds,flags;message`, followed by lines that
    /// begin with a space.
    static func message(of record: String) -> Substring? {
        let line = record.prefix { $0 != "\n" }
        guard let semicolon = line.firstIndex(of: ";") else { return nil }
        return line[line.index(after: semicolon)...]
    }

    /// Whether a message reports the end of a process: by the out-of-memory killer, a fault or a trap.
    static func reports(_ message: some StringProtocol, of process: Int32) -> Bool {
        message.contains("Killed process \(process) ") || message.contains("[\(process)]: segfault at ")
            || message.contains("traps: ") && message.contains("[\(process)] ")
    }

    /// The messages that report the end of a process, oldest first. Empty if the log may not be read.
    static func messages(of process: Int32, path: String = "/dev/kmsg") -> [String] {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 8192)
        var found: [String] = []
        // Each read returns one record. EPIPE means that the record was overwritten meanwhile.
        while true {
            let count = retryingOnInterrupt { read(descriptor, &buffer, buffer.count) }
            if count < 0, errno == EPIPE { continue }
            guard count > 0 else { return found }
            let record = String(decoding: buffer[..<count], as: UTF8.self)
            if let message = message(of: record), reports(message, of: process) { found.append(String(message)) }
        }
    }
}

/// Why a session ended without closing, as far as it is known. Pure.
///
/// The most reliable source wins: Swift's backtracer, then the kernel's log, then the supervisor. Without any of them,
/// the cause is a signal that leaves no trace: SIGKILL, or a crash without a backtracer.
enum CrashReason: Equatable, Sendable {
    /// The backtracer's description.
    case trapped(String)
    case outOfMemory
    /// The kernel's description.
    case fault(String)
    /// The signal's name without SIG, as the supervisor reports it.
    case signal(String)
    case exitStatus(String)
    case machineWentDown
    case unknown

    /// - Parameters:
    ///   - backtrace: the backtracer's text; `nil` if there is none.
    ///   - kernelLines: messages of the kernel's log that name the process.
    ///   - bootID: of the present boot.
    init(_ session: SessionRecord, backtrace: String?, kernelLines: [String], bootID: String?) {
        if let headline = backtrace?.split(separator: "\n").first(where: { $0.hasPrefix("*** Program crashed: ") }) {
            self = .trapped(headline.drop { $0 == "*" || $0 == " " }.split(separator: " ***")[0].description)
        } else if session.bootID != nil, bootID != nil, session.bootID != bootID, session.exit == nil {
            self = .machineWentDown
        } else if session.exit?.result == "oom-kill" || kernelLines.contains(where: { $0.contains("Killed process") }) {
            self = .outOfMemory
        } else if let line = kernelLines.last {
            self = .fault(line)
        } else if let exit = session.exit {
            self = exit.code == "exited" ? .exitStatus(exit.status) : .signal(exit.status)
        } else {
            self = .unknown
        }
    }

    /// Text for people, and the value of `reason=` in the crash log.
    var text: String {
        switch self {
        case .trapped(let headline): headline
        case .outOfMemory: "killed by the kernel for want of memory"
        case .fault(let line): "the kernel says: \(line)"
        case .signal(let name): "ended by signal \(name)"
        case .exitStatus(let status): "exited with status \(status) without closing its log"
        case .machineWentDown: "the machine went down while it ran"
        case .unknown:
            "ended without closing its log and without a trace: killed (SIGKILL), or crashed with no backtracer enabled"
        }
    }
}

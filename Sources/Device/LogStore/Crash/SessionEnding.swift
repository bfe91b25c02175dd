import Glibc

/// Notes how a program ended in the marker it left behind, for whoever opens the store next and tells of the crash.
package enum SessionEnding {
    /// - Parameters:
    ///   - code, status, result: as systemd says them: `$EXIT_CODE`, `$EXIT_STATUS`, `$SERVICE_RESULT`.
    ///   - application: whose session it was.
    /// - Returns: whether there was a marker to note it in; after an orderly end there is none.
    package static func note(
        code: String, status: String, result: String, application: String, in directory: StoreDirectory
    ) throws(LogStoreError) -> Bool {
        try note(
            SessionRecord.Exit(code: code, status: status, result: result), of: application,
            bootID: SystemClock.bootID(), in: directory)
    }

    /// - Parameter bootID: of the machine now: what an earlier boot left did not end by this.
    static func note(
        _ exit: SessionRecord.Exit, of application: String, bootID: String?, in directory: StoreDirectory
    ) throws(LogStoreError) -> Bool {
        do {
            let lock = try StoreLock(directory)
            defer { extendLifetime(lock) }
            let ordinals = try directory.names().compactMap { SessionMarker.ordinal(of: $0) }
            for ordinal in ordinals.sorted(by: >) {
                if try note(exit, of: application, bootID, in: directory.path(SessionMarker.name(ordinal))) {
                    return true
                }
            }
            return false
        } catch {
            // No store, no session.
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    private static func note(
        _ exit: SessionRecord.Exit, of application: String, _ bootID: String?, in path: String
    ) throws(LogStoreError) -> Bool {
        let descriptor = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("opening", path) }
        let file = StoreFile(descriptor: descriptor, path: path)
        // It runs, or its crash is being told.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        defer { flock(descriptor, LOCK_UN) }
        let text = String(decoding: try file.readWhole(maximumBytes: CrashReporter.maximumMarkerBytes), as: UTF8.self)
        guard let session = SessionRecord(reading: text), session.application == application, session.exit == nil,
            session.bootID == bootID
        else { return false }
        // A line that was cut off when the program died ends here.
        try file.write(Array(((text.hasSuffix("\n") ? "" : "\n") + SessionRecord.exitLine(exit)).utf8))
        try file.sync()
        return true
    }
}

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

/// Why a session ended without saying so, as far as it can be told. Pure.
///
/// The best witness is taken: Swift's backtracer, then the kernel's log, then the supervisor. Without any, what is left
/// is a signal that leaves no trace: SIGKILL, or a crash where no backtracer was enabled.
enum CrashReason: Equatable, Sendable {
    /// As the backtracer says it.
    case trapped(String)
    case outOfMemory
    /// As the kernel says it.
    case fault(String)
    /// The signal's name as the supervisor says it, without SIG.
    case signal(String)
    case exitStatus(String)
    case machineWentDown
    case unknown

    /// - Parameters:
    ///   - backtrace: what the backtracer wrote; `nil`: nothing.
    ///   - kernelLines: messages of the kernel's log that name the process.
    ///   - bootID: of the machine now.
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

    /// For people and for `reason=` in the crash log.
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

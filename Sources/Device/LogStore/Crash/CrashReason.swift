/// Why a session ended without saying so, as far as it can be told. Pure.
///
/// The best witness is taken: Swift's backtracer, then the kernel's log, then the supervisor. Without any, what is left is a signal that leaves no
/// trace: SIGKILL, or a crash where no backtracer was enabled.
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
        case .unknown: "ended without closing its log and without a trace: killed (SIGKILL), or crashed with no backtracer enabled"
        }
    }
}

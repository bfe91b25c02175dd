import Glibc

/// The duties of a program that is the first process of a container.
///
/// The kernel gives the first process every process whose parent has ended: what a hook's program left in the
/// background, or a shell of `docker exec`. Each stays as a zombie until its new parent asks how it ended. So the first
/// process runs the program in a child, and only tends processes itself.
enum FirstProcess {
    /// Returns in the process that is to do the work. The first process of a container never returns: it passes signals
    /// on, and ends as the working process does. Call it before another thread exists.
    static func tendOthers() {
        guard getpid() == 1 else { return }
        var all = sigset_t()
        var former = sigset_t()
        sigfillset(&all)
        // Blocked signals wait in the kernel for `sigwaitinfo`, so none is missed.
        sigprocmask(SIG_SETMASK, &all, &former)
        guard let worker = start(signals: former) else {
            sigprocmask(SIG_SETMASK, &former, nil)
            return
        }
        while true {
            var signal = siginfo_t()
            let number = sigwaitinfo(&all, &signal)
            if number == SIGCHLD {
                if let code = reap(worker) { exit(code) }
            } else if number > 0, signal.si_code != keyboard {
                kill(worker, number)
            }
        }
    }

    /// `SI_KERNEL`: a signal of the terminal, which the worker gets too.
    private static let keyboard: Int32 = 0x80

    /// This program once more, with the same arguments and environment. `nil` if it cannot be started.
    private static func start(signals: sigset_t) -> pid_t? {
        var signals = signals
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var worker: pid_t = 0
        let result = posix_spawn(&worker, "/proc/self/exe", nil, &attributes, CommandLine.unsafeArgv, environ)
        return result == 0 ? worker : nil
    }

    /// Asks for all that have ended.
    /// - Returns: the exit code if the worker is among them, as a shell reports it.
    private static func reap(_ worker: pid_t) -> Int32? {
        while true {
            var ending: Int32 = 0
            let ended = waitpid(-1, &ending, WNOHANG)
            if ended <= 0 { return nil }
            guard ended == worker else { continue }
            let signal = ending & 0x7f
            return signal == 0 ? (ending >> 8) & 0xff : 128 + signal
        }
    }
}

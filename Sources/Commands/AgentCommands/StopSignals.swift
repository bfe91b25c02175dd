import Glibc

/// SIGTERM, SIGINT and SIGHUP between a program's first line and the moment somebody listens for them.
///
/// A signal that comes then would end the process on the spot, with whatever it has begun. Held back it waits in the kernel and is seen as
/// soon as the service group listens (libdispatch reads signals from a signalfd, which also gives those that already wait).
enum StopSignals {
    /// To be called before any other thread exists: threads inherit it.
    static func holdBack() { change(SIG_BLOCK) }

    /// For commands that nobody has to stop in order: one that waits takes effect now.
    static func letThrough() { change(SIG_UNBLOCK) }

    private static func change(_ how: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        // Asks a running agent to read its configuration again; it ends every other command, as a terminal that is closed should.
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(how, &signals, nil)
    }
}

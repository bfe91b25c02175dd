import Dispatch
import Foundation
import Glibc
import Synchronization

/// A process under test: started, signalled, waited for with a deadline. It inherits nothing but its arguments and environment;
/// its output goes to files, so that nobody has to drain a pipe. Thread-safe.
final class ChildProcess: Sendable {
    enum Ending: Equatable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    let processID: pid_t
    private let ended = DispatchGroup()
    private let ending = Mutex<Ending?>(nil)

    /// - Parameters:
    ///   - output, errors: files to append to; `/dev/null` discards.
    ///   - environment: the whole of it; `nil` is this process's.
    init(_ executable: String, _ arguments: [String], environment: [String: String]? = nil, output: String, errors: String) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // Other tests' files, locks and sockets are not the child's to keep open.
        for descriptor in 3..<Int32(min(getdtablesize(), 1024)) { posix_spawn_file_actions_addclose(&actions, descriptor) }

        // Threads of the test runner may block or ignore signals; the child starts as from a shell.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" }
        var started: pid_t = 0
        let result = withCStrings([executable] + arguments) { argv in
            withCStrings(variables) { envp in
                posix_spawnp(&started, executable, &actions, &attributes, argv, envp)
            }
        }
        guard result == 0 else { throw EndToEndError("cannot start \(executable): \(String(cString: strerror(result)))") }
        processID = started

        ended.enter()
        Thread.detachNewThread { [self] in
            var status: Int32 = 0
            while waitpid(processID, &status, 0) == -1 && errno == EINTR {}
            let signal = status & 0x7f
            ending.withLock { $0 = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal) }
            ended.leave()
        }
    }

    var isRunning: Bool { ending.withLock { $0 } == nil }

    /// Nothing happens if it has ended (its number may belong to another process by then).
    func send(signal: Int32) {
        ending.withLock { if $0 == nil { kill(processID, signal) } }
    }

    /// How it ended, or `nil` if it still runs after `limit`.
    func ending(within limit: Duration) async -> Ending? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                _ = ended.wait(timeout: .now() + limit.dispatchInterval)
                continuation.resume(returning: ending.withLock { $0 })
            }
        }
    }

    /// Ends it the hard way and waits until it is gone.
    func killAndReap() async {
        send(signal: SIGKILL)
        _ = await ending(within: .seconds(30))
    }
}

extension Duration {
    var dispatchInterval: DispatchTimeInterval {
        .nanoseconds(Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
    }
}

private func withCStrings<Result>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
    let pointers = strings.map { strdup($0) }
    defer { pointers.forEach { free($0) } }
    return body(pointers + [nil])
}

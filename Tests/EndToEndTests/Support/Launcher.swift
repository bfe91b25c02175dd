import Foundation
import Glibc
import Synchronization
import TestKit

/// Starts all processes under test, from a shell that is forked once, before anything else is.
///
/// Forking from the test process itself would disturb tests that run meanwhile: between fork and exec the child shares
/// every open descriptor, so a listening socket that a test has just closed still accepts, a lock just given back is
/// still held, and a deleted file still occupies room. The shell has none of them open.
final class Launcher: Sendable {
    static let shared = Result { try Launcher() }

    /// Where the shell reads what to start.
    private let commands: Mutex<Int32>

    private init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw EndToEndError("no pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        // Ctrl-C at the terminal ends it, with the programs that it has started.
        _ = try SpawnedProcess.start(
            ["/bin/bash", "-s"], streams: [.descriptor(ends[0]), .null, .null], hasOwnGroup: false)
        commands = Mutex(ends[1])
    }

    /// Starts a program; its number and how it ended come as two lines through the FIFO at `report`.
    func start(_ command: [String], environment: [String: String], output: String, errors: String, report: String)
        throws
    {
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let words = (["env", "-i"] + variables + command).map(Self.quoted).joined(separator: " ")
        let line = """
            { \(words) </dev/null >>\(Self.quoted(output)) 2>>\(Self.quoted(errors)) 9>&- & echo $! >&9; wait $!; echo \
            $? >&9; } 9>\(Self.quoted(report)) &\n
            """
        try commands.withLock { descriptor in
            var rest = Array(line.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { throw EndToEndError("the shell that starts programs is gone") }
                rest = rest.dropFirst(count)
            }
        }
    }

    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}

import Foundation
import Synchronization
import TestKit

/// One run of a broker under a watching shell.
///
/// The shell reads from a pipe whose other end only this process has. The pipe ends when this process ends, whatever
/// the reason; the shell then kills the broker.
final class MosquittoProcess: Sendable {
    private let pid: pid_t
    private let shell: pid_t
    /// The end of the pipe; -1 once closed.
    private let lifeline: Mutex<Int32>

    private static let script = """
        "$@" >&2 3<&- & server=$!
        trap '' HUP INT TERM
        echo "$server"
        exec >&-
        read -r word <&3
        kill -CONT "$server" 2>/dev/null
        kill -"${word:-KILL}" "$server" 2>/dev/null
        wait
        """

    init(_ command: [String], output: String) throws {
        var lifelineEnds: [Int32] = [-1, -1]
        var outputEnds: [Int32] = [-1, -1]
        guard pipe(&lifelineEnds) == 0, pipe(&outputEnds) == 0 else { throw MosquittoTestFailure("no pipe is left") }
        // Other processes of this one must not keep the pipes open.
        for end in lifelineEnds + outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(lifelineEnds[0]) }
        let shell: pid_t
        do {
            defer { close(outputEnds[1]) }
            shell = try SpawnedProcess.start(
                ["/bin/sh", "-c", Self.script, "mosquitto-watch"] + command,
                environment: ["PATH=/usr/sbin:/usr/bin:/bin", "LC_ALL=C"],
                streams: [.null, .descriptor(outputEnds[1]), .appended(toFile: output), .descriptor(lifelineEnds[0])])
        } catch {
            close(outputEnds[0])
            close(lifelineEnds[1])
            throw error
        }
        let reader = FileHandle(fileDescriptor: outputEnds[0], closeOnDealloc: true)
        let line = String(decoding: reader.readDataToEndOfFile(), as: UTF8.self)
        pid = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        self.shell = shell
        lifeline = Mutex(lifelineEnds[1])
    }

    deinit { end(by: SIGKILL) }

    func signal(_ signal: Int32) {
        if pid > 0 { _ = Glibc.kill(pid, signal) }
    }

    /// Ends the broker, and waits until it is gone. Blocks.
    /// - Parameter signal: SIGKILL or SIGTERM.
    func end(by signal: Int32) {
        let descriptor = lifeline.withLock { lifeline in
            defer { lifeline = -1 }
            return lifeline
        }
        guard descriptor >= 0 else { return }
        _ = Glibc.write(descriptor, signal == SIGKILL ? "KILL\n" : "TERM\n", 5)
        close(descriptor)
        SpawnedProcess.waitForEnd(of: shell)
    }
}

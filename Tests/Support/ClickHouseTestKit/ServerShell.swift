import Foundation
import Glibc
import Synchronization
import TestKit

/// A shell that starts servers, waits for those that are killed, and removes their folder in the end.
///
/// The test process cannot start them itself: between fork and exec a child shares its descriptors, which disturbs
/// tests that run meanwhile. The shell reads commands from a socket. When the test process ends, also by a crash, the
/// socket closes; the shell then kills the servers and removes the folder. Should the shell be killed, the kernel kills
/// them.
///
/// Thread-safe; commands run one after the other.
final class ServerShell: Sendable {
    /// What the servers write. Removed by `end()`.
    let folder: String

    /// Commands go out and answers come in. -1: ended.
    private let socket: Mutex<Int32>
    private let shell: pid_t

    private static let script = """
        while IFS= read -r line; do eval "$line"; done
        exec >/dev/null
        kill -KILL $(jobs -p)
        wait
        rm -rf -- "$1"
        """

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/ws1-clickhouse-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var ends: [Int32] = [-1, -1]
        // A socket, because writing to a pipe that nobody reads raises a signal.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ServerFailure("no socket: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[1]) }
        // In a group of its own it outlives a Ctrl-C at the terminal, and removes the files.
        shell = try SpawnedProcess.start(
            ["/bin/bash", "-c", Self.script, "bash", folder],
            streams: [.descriptor(ends[1]), .descriptor(ends[1]), .appended(toFile: folder + "/shell.log")])
        socket = Mutex(ends[0])
    }

    /// Starts a server in the background. Its output goes to a file in the folder.
    func start(_ command: [String], output: String) async throws -> pid_t {
        let words = command.map(Self.quoted).joined(separator: " ")
        let answer = try await ask(
            "setpriv --pdeathsig KILL env -i PATH=/usr/bin:/bin:/usr/sbin TZ=UTC \(words) </dev/null "
                + ">>\(Self.quoted("\(folder)/\(output)")) 2>&1 & echo $!")
        guard let process = pid_t(answer) else { throw ServerFailure("cannot start \(command[0]): \(answer)") }
        return process
    }

    /// Kills a server and waits until it is gone. It may be stopped, or have ended.
    func kill(_ process: pid_t) async throws {
        _ = try await ask("kill -KILL \(process); wait \(process); echo gone")
    }

    func send(_ signal: Int32, to process: pid_t) async throws {
        _ = try await ask("kill -\(signal) \(process); echo sent")
    }

    /// SIGSTOP. Returns when all threads of the process have stopped: they run on for a moment after the signal.
    func freeze(_ process: pid_t) async throws {
        try await send(SIGSTOP, to: process)
        let end = ContinuousClock.now + .seconds(30)
        while !Self.isStopped(process) {
            guard ContinuousClock.now < end else { throw ServerFailure("process \(process) does not stop") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Whether the kernel says `T` of each thread. The state follows the name, which is in parentheses.
    private static func isStopped(_ process: pid_t) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return !threads.isEmpty
            && threads.allSatisfy { thread in
                let stat = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/stat", encoding: .utf8)
                return stat?.split(separator: ")").last?.hasPrefix(" T") == true
            }
    }

    func isRunning(_ process: pid_t) async throws -> Bool {
        try await ask("kill -0 \(process) && echo yes || echo no") == "yes"
    }

    /// The end of what a server has said.
    func tail(_ output: String) -> String {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(output)") else { return "" }
        return String(decoding: data.suffix(2000), as: UTF8.self)
    }

    /// Kills the servers that still run and removes the folder. Returns when the shell has ended.
    func end() async {
        await BlockingCall.run { [self] in
            socket.withLock { socket in
                close(socket)
                socket = -1
            }
            SpawnedProcess.waitForEnd(of: shell)
        }
    }

    /// Has the shell run one line, and returns the line that it prints.
    private func ask(_ line: String) async throws -> String {
        try await BlockingCall.run { [self] in
            try socket.withLock { socket in
                var rest = Array((line + "\n").utf8)[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes {
                        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { throw ServerFailure("the shell that starts servers is gone") }
                    rest = rest.dropFirst(count)
                }
                var text: [UInt8] = []
                var byte: UInt8 = 0
                while read(socket, &byte, 1) == 1 {
                    if byte == UInt8(ascii: "\n") { return String(decoding: text, as: UTF8.self) }
                    text.append(byte)
                }
                throw ServerFailure("the shell that starts servers is gone")
            }
        }
    }

    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}

/// A server that a test needs did not do what it must.
package struct ServerFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

import Foundation
import Synchronization
import TestKit

/// One run of a PostgreSQL server under a watching shell.
///
/// The shell reads from a pipe whose other end only this process has. The pipe ends when this process ends, whatever
/// the reason; the shell then ends the server at once with all of its children, also frozen ones. PR_SET_PDEATHSIG
/// would not do: it reports the end of the thread that started the server.
final class PostgresProcess: Sendable {
    let pid: pid_t
    private let shell: pid_t
    /// The end of the pipe; -1 once closed.
    private let lifeline: Mutex<Int32>

    private static let script = """
        if [ "$1" != : ]; then "$@" >&2 3<&- & server=$!; else server=; fi
        # The kernel sends SIGHUP to a group without a parent that has stopped members, such as a frozen server.
        trap '' HUP INT TERM
        echo "$server"
        exec >&-
        read -r word <&3
        all() {
            for process in /proc/[0-9]*; do
                read -r pid name state parent rest 2>/dev/null <"$process/stat" || continue
                [ "$parent" = "$server" ] && kill -"$1" "$pid"
            done
            kill -"$1" "$server" 2>/dev/null
        }
        if [ -n "$server" ]; then
            if [ "$word" = kill ]; then
                # Stopped first, so that it makes no children meanwhile.
                kill -STOP "$server" 2>/dev/null
                all KILL
            else
                all CONT
                kill -QUIT "$server" 2>/dev/null
            fi
            wait
        fi
        [ -z "$remove" ] || [ -n "$word" ] || rm -rf "$remove"
        """

    /// - Parameters:
    ///   - command: a server that stays in the foreground; `[":"]` for none.
    ///   - output: the file for its log.
    ///   - remove: a folder that goes with this process, if that ends without ``end()``.
    init(_ command: [String], output: String, remove: String?) throws {
        var pipeEnds: [Int32] = [-1, -1]
        guard pipe(&pipeEnds) == 0 else { throw PostgresTestFailure("no pipe is left") }
        // Other processes of this one must not keep the pipe open.
        for end in pipeEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(pipeEnds[0]) }
        var outputEnds: [Int32] = [-1, -1]
        guard pipe(&outputEnds) == 0 else { throw PostgresTestFailure("no pipe is left") }
        for end in outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }

        let shell: pid_t
        do {
            defer { close(outputEnds[1]) }
            shell = try SpawnedProcess.start(
                ["/bin/sh", "-c", Self.script, "postgres-watch"] + command,
                environment: ["PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "remove=\(remove ?? "")"],
                streams: [
                    .null, .descriptor(outputEnds[1]), .appended(toFile: output), .descriptor(pipeEnds[0]),
                ])
        } catch {
            close(outputEnds[0])
            close(pipeEnds[1])
            throw error
        }
        let reader = FileHandle(fileDescriptor: outputEnds[0], closeOnDealloc: true)
        let line = String(decoding: reader.readDataToEndOfFile(), as: UTF8.self)
        pid = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        self.shell = shell
        lifeline = Mutex(pipeEnds[1])
    }

    deinit { end() }

    /// Ends the server with its children, also frozen ones, and waits until they are gone.
    /// - Parameter byKilling: with SIGKILL, as a power cut would. Otherwise by an immediate shutdown, which is no
    ///   better for the data, but lets the server wait for its children.
    func end(byKilling: Bool = false) {
        let descriptor = lifeline.withLock { lifeline in
            defer { lifeline = -1 }
            return lifeline
        }
        guard descriptor >= 0 else { return }
        let children = children
        _ = Glibc.write(descriptor, byKilling ? "kill\n" : "stop\n", 5)
        close(descriptor)
        SpawnedProcess.waitForEnd(of: shell)
        // Another server on the same data refuses to start while one of them is left.
        let deadline = ContinuousClock.now + .seconds(20)
        while children.contains(where: { !Self.hasEnded($0) }), ContinuousClock.now < deadline { usleep(2000) }
    }

    /// Whether the server has ended by itself; the shell has not looked yet.
    var hasEnded: Bool { Self.hasEnded(pid) }

    private static func hasEnded(_ pid: pid_t) -> Bool {
        let stat = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        return stat.isEmpty || stat.contains(") Z ")
    }

    /// Processes whose parent is the server.
    var children: [pid_t] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap { pid_t($0) }.filter { candidate in
            guard let stat = try? String(contentsOfFile: "/proc/\(candidate)/stat", encoding: .utf8) else {
                return false
            }
            // "pid (name) state parent ...": the name may have spaces and parentheses.
            let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
            return fields.count > 2 && fields[2] == "\(pid)"
        }
    }

    private static let removers = Mutex<[PostgresProcess]>([])

    static func removeWithThisProcess(_ folder: String) throws {
        let remover = try PostgresProcess([":"], output: "/dev/null", remove: folder)
        removers.withLock { $0.append(remover) }
    }
}

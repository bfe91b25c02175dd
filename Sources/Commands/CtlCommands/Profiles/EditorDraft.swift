import CommandKit
import FoundationEssentials
import Glibc
import JSON
import TelemetryBasics

/// A text that the person edits, in a file of mode 0600.
struct EditorDraft {
    let path: String

    init(of value: JSONValue) throws(CommandError) {
        let directory = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        path = "\(directory)/ws1ctl-\(UUID().uuidString).json"
        let text = String(decoding: try JSONText.of(value), as: UTF8.self) + "\n"
        do throws(FileError) { try Files<FileError>.write(text.utf8.span.bytes, to: path, sync: .none) } catch {
            throw CommandError(error.isDiskFull ? .tryAgain : .failed, "\(error)", cause: error)
        }
    }

    /// Runs the editor, and reads what it left.
    /// - Throws: `.failed` if the editor failed, `.usage` if the text is no JSON.
    func edited() throws(CommandError) -> JSONValue {
        let environment = ProcessInfo.processInfo.environment
        let editor = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "vi"
        // The variable may have arguments: `code --wait`.
        let status = try Self.run(["/bin/sh", "-c", "exec \(editor) \"$1\"", "ws1ctl", path])
        guard status == 0 else { throw CommandError(.failed, "the editor `\(editor)` ended with status \(status)") }
        return try DocumentFile.read(path)
    }

    func remove() { unlink(path) }

    /// Runs a program with this one's terminal.
    /// - Returns: its exit status; 128 and more if a signal ended it.
    private static func run(_ command: [String]) throws(CommandError) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This program ignores them; the editor shall not.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        sigaddset(&signals, SIGXFSZ)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
        arguments.append(nil)
        defer { arguments.forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, command[0], nil, &attributes, arguments, environ)
        guard code == 0 else {
            throw CommandError(.failed, "\(command[0]) cannot be started: \(FileError.words(code))")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}

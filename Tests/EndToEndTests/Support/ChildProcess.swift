import Dispatch
import Foundation
import Glibc
import Synchronization
import TestKit

/// A process under test: started, signalled, waited for with a deadline. It inherits nothing but its arguments and
/// environment; its output goes to files, so that nobody has to drain a pipe. SIGINT and SIGQUIT do not reach it.
/// Thread-safe.
final class ChildProcess: Sendable {
    enum Ending: Equatable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    let processID: pid_t
    private let name: String
    private let ended = DispatchGroup()
    private let ending = Mutex<Ending?>(nil)

    /// - Parameters:
    ///   - output, errors: files to append to; `/dev/null` discards.
    ///   - environment: the whole of it.
    init(_ executable: String, _ arguments: [String], environment: [String: String], output: String, errors: String)
        throws
    {
        let report = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-\(UUID().uuidString).report")
            .path
        guard mkfifo(report, 0o600) == 0 else { throw EndToEndError("cannot make \(report)") }
        defer { unlink(report) }
        try Launcher.shared.get().start(
            [executable] + arguments, environment: environment, output: output, errors: errors, report: report)
        // Blocks until the shell has opened it too.
        let lines = open(report, O_RDONLY | O_CLOEXEC)
        guard lines >= 0 else { throw EndToEndError("cannot read \(report)") }
        guard let processID = Self.number(lines) else {
            close(lines)
            throw EndToEndError("cannot start \(executable)")
        }
        self.processID = processID
        name = String(executable.split(separator: "/").last ?? "")

        ended.enter()
        Thread.detachNewThread { [self] in
            let status = Self.number(lines) ?? -1
            close(lines)
            ending.withLock { $0 = status > 128 ? .killed(signal: status - 128) : .exited(status) }
            ended.leave()
        }
    }

    /// The next line as a number; `nil` at the end.
    private static func number(_ lines: Int32) -> Int32? {
        var text = ""
        var byte: UInt8 = 0
        while read(lines, &byte, 1) == 1, byte != UInt8(ascii: "\n") { text.append(Character(Unicode.Scalar(byte))) }
        return Int32(text)
    }

    /// Nothing happens if it has ended (its number may belong to another process by then).
    func send(signal: Int32) {
        ending.withLock { if $0 == nil { kill(processID, signal) } }
    }

    /// Whether its first thread holds this signal back at this instant; `false` while it is still the shell that starts
    /// it.
    func blocks(signal: Int32) -> Bool {
        let mask = "SigBlk:"
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe"),
            program.hasSuffix("/\(name)"),
            let status = try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix(mask) }),
            let signals = UInt64(line.dropFirst(mask.count).trimmingCharacters(in: .whitespaces), radix: 16)
        else { return false }
        return signals & (1 << UInt64(signal - 1)) != 0
    }

    /// How it ended, or `nil` if it still runs after `limit`.
    func ending(within limit: Duration) async -> Ending? {
        await BlockingCall.run { [self] in
            _ = ended.wait(timeout: .now() + limit.dispatchInterval)
            return ending.withLock { $0 }
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

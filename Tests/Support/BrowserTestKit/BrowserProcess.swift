import Dispatch
import Foundation
import Glibc
import Synchronization
import TestKit

/// A Chromium without a window. It speaks the DevTools protocol over one socket, which it has as descriptors 3
/// (commands) and 4 (answers).
///
/// It ends by itself when the socket closes, so it never outlives the test process, however that ends. A shell waits
/// for it and then removes its files.
final class BrowserProcess: Sendable {
    /// Our end of the socket. The connection closes it.
    let socket: Int32
    /// Profile, downloads and everything else that it writes.
    let directory: URL

    private let shell: pid_t
    private let log: FileHandle
    private let ended = DispatchGroup()
    private let status = Mutex<Int32?>(nil)

    /// Debian's script beside it would add settings of the system.
    private static let programs = ["/usr/lib/chromium/chromium", "/usr/bin/chromium"]

    /// The shell must not hold the socket: its end shows us that the browser has ended. The browser's other processes
    /// have their own way to notice that, and may write files until then.
    private static let script = """
        directory=$1; shift
        set -m
        "$@" & browser=$!
        exec 3>&- 4>&-
        trap 'kill -KILL -- "-$browser"' TERM
        wait -f "$browser"
        kill -KILL -- "-$browser" 2>/dev/null
        wait -f "$browser"; status=$?
        for _ in {1..50}; do
            rm -rf -- "$directory"
            [ -e "$directory" ] || break
            sleep 0.1
        done
        exit "$status"
        """

    init() throws {
        guard let program = Self.programs.first(where: { access($0, X_OK) == 0 }) else {
            throw BrowserError(
                .missing, "Chromium is missing (Tools/test installs it): apt-get install chromium fonts-dejavu-core")
        }
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ws1-browser-\(UUID().uuidString)")
        let downloads = directory.appendingPathComponent("downloads")
        try FileManager.default.createDirectory(
            at: downloads, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        do {
            let log = directory.appendingPathComponent("log")
            try Data().write(to: log)
            self.log = try FileHandle(forUpdating: log)
            (socket, shell) = try Self.start(program, in: directory, log: self.log)
        } catch {
            try? FileManager.default.removeItem(at: directory)
            throw error
        }
        self.directory = directory

        ended.enter()
        Thread.detachNewThread { [self] in
            let status = SpawnedProcess.waitForEnd(of: shell)
            self.status.withLock { $0 = status }
            ended.leave()
        }
    }

    private static func start(_ program: String, in directory: URL, log: FileHandle) throws -> (Int32, pid_t) {
        var ends: [Int32] = [-1, -1]
        // A socket, because writing to a pipe that nobody reads raises a signal.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw BrowserError(.missing, "no socket: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[1]) }
        let profile = directory.appendingPathComponent("profile").path
        do {
            // In a group of its own, so that a Ctrl-C at the terminal leaves the shell alive to remove the files.
            let shell = try SpawnedProcess.start(
                ["/bin/bash", "-c", script, "bash", directory.path, program] + flags + ["--user-data-dir=\(profile)"],
                environment: [
                    "PATH=/usr/bin:/bin", "HOME=\(directory.path)", "TMPDIR=\(directory.path)", "LANG=C.UTF-8",
                    "TZ=UTC",
                ],
                streams: [
                    .null, .descriptor(log.fileDescriptor), .descriptor(log.fileDescriptor), .descriptor(ends[1]),
                    .descriptor(ends[1]),
                ])
            return (ends[0], shell)
        } catch {
            close(ends[0])
            throw BrowserError(.missing, error.description)
        }
    }

    /// Whether it is gone, with its files, within the limit. Blocks.
    func isGone(within limit: Duration) -> Bool {
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        return ended.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success
    }

    /// Ends it the hard way. Its files go all the same.
    func kill() {
        status.withLock { if $0 == nil { _ = Glibc.kill(shell, SIGTERM) } }
    }

    /// How it ended, with the last lines that it wrote. Blocks for a moment if it is just about to end.
    func explanation() -> String {
        _ = isGone(within: .seconds(5))
        let ending =
            switch status.withLock({ $0 }) {
            case nil: "it closed its end of the connection"
            case let status? where status & 0x7f != 0: "killed by signal \(status & 0x7f)"
            case let status? where status >> 8 > 128: "killed by signal \(status >> 8 - 128)"
            case let status?: "exit status \(status >> 8)"
            }
        let lines = lastLines()
        return lines.isEmpty ? ending : "\(ending); its last lines:\n\(lines.joined(separator: "\n"))"
    }

    private func lastLines() -> [String] {
        // Readable after its removal, too.
        try? log.seek(toOffset: 0)
        let text = String(decoding: (try? log.readToEnd()) ?? Data(), as: UTF8.self)
        // It complains about the missing D-Bus of a container at every start.
        return text.split(separator: "\n").filter { !$0.contains(":ERROR:dbus/") }.suffix(8).map(String.init)
    }
}

extension BrowserProcess {
    private static let flags = [
        "--headless=new", "--remote-debugging-pipe", "--no-startup-window",
        // Tests run as root in containers, where its sandbox cannot start. It shows only our own pages.
        "--no-sandbox", "--disable-gpu",
        // A container's /dev/shm may be small.
        "--disable-dev-shm-usage",
        // Nothing leaves this machine, whatever a page asks for.
        "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection", "--disable-field-trial-config", "--metrics-recording-only",
        "--no-pings", "--disable-search-engine-choice-screen",
        // Nothing of a person's first start.
        "--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions",
        "--disable-component-extensions-with-background-pages", "--password-store=basic", "--disable-breakpad",
        // All pages are as if in front.
        "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
        "--disable-background-timer-throttling", "--disable-hang-monitor", "--disable-ipc-flooding-protection",
        // A page left and returned to is loaded anew.
        "--disable-features=BackForwardCache,Translate,MediaRouter,OptimizationHints,AutofillServerCommunication",
        "--disable-popup-blocking", "--disable-prompt-on-repost", "--allow-pre-commit-input",
        // Pictures do not depend on the machine.
        "--force-color-profile=srgb", "--font-render-hinting=none", "--hide-scrollbars", "--lang=en-US", "--mute-audio",
    ]
}

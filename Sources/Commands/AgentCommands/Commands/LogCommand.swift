import ArgumentParser
import CommandKit
import ControlSocket
import DataSampler
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Logs a line, or each line of standard input, and waits until it is in the file.",
        discussion: """
            A running agent writes the line. If no agent runs, the command writes into the log of the data directory, \
            and makes the log if there is none. Without MESSAGE, it logs each line of standard input as it arrives: \
            some-program 2>&1 | ws1agent log information --category some-program

            The level in force may filter a line out. The command then says so on standard error and in the output of \
            --json, and does not fail. A line longer than 65,536 bytes ends in …[+N], where N is the number of bytes \
            left out. Bytes that are not UTF-8 are replaced. Carriage returns at a line's end and byte order marks at \
            its beginning, as other systems write them, are left out.
            """)

    @Argument(help: "error, warning, information (info) or verbose (debug).")
    var level: String

    @Argument(help: "The line (default: lines of standard input). Put -- before a line that begins with a dash.")
    var message: String?

    @Option(help: ArgumentHelp("The source of the line, e.g. backup.nightly; up to 128 bytes.", valueName: "name"))
    var category: String = ""

    @Option(
        help: ArgumentHelp(
            "Bundle id of the program that the lines belong to; by default the agent's.", valueName: "id"))
    var application: String = ""

    @Option(help: ArgumentHelp("A value beside the text; may be repeated.", valueName: "key=value"))
    var metadata: [String] = []

    @Flag(help: "Print what became of the lines as JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let template = try template()
        let handover = LogHandover(try DeviceAccess(options), application: application)
        var failure: CommandError?
        do throws(CommandError) { try await handOver(template, to: handover) } catch { failure = error }
        try report(handover.total ?? LogDelivery(level: nil))
        if let failure { throw failure }
    }

    /// Checks the arguments and makes an entry, whose text is empty if standard input is read.
    func template() throws(CommandError) -> LogEntry {
        guard let level = LogLevel(name: level) else {
            let names = LogLevel.allCases.map(\.name).joined(separator: ", ")
            throw CommandError(.usage, "the level is '\(self.level)': it must be one of \(names)")
        }
        if let message, message.isEmpty {
            throw CommandError(.usage, "the message is empty: give a text, or leave it out to read standard input")
        }
        return LogEntry(
            level, message ?? "", category: category, metadata: try KeyedValues.read(metadata, option: "--metadata"))
    }

    private func handOver(_ template: LogEntry, to handover: LogHandover) async throws(CommandError) {
        guard message == nil else { return try await handover.deliver([template]) }
        var input = LineInput()
        var batches = LogBatches()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = retryingOnInterrupt { read(STDIN_FILENO, &buffer, buffer.count) }
            guard count >= 0 else {
                throw CommandError(.failed, "standard input cannot be read: \(String(cString: strerror(errno)))")
            }
            var lines = buffer.withUnsafeBytes { input.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if count == 0, let last = input.finish() { lines.append(last) }
            for line in lines {
                var entry = template
                (entry.message, entry.leftOutBytes) = (line.text, line.leftOutBytes)
                if let full = batches.add(entry) { try await handover.deliver(full) }
            }
            // Delivers the complete lines before the next read can block.
            try await handover.deliver(batches.drain())
            if count == 0 { return }
        }
    }

    private func report(_ delivery: LogDelivery) throws(CommandError) {
        if json {
            return try Output.json(delivery)
        }
        let level =
            delivery.level.map { "less severe than the level in force, \($0)" } ?? "filtered: nothing is logged now"
        if delivery.ring > 0 {
            StandardError.line(
                "ws1agent: \(CountText.of(delivery.ring, "line")) \(level): kept in the ring for a while")
        }
        if delivery.filtered > 0 {
            StandardError.line("ws1agent: \(CountText.of(delivery.filtered, "line")) \(level): not logged")
        }
    }
}

/// Splits the bytes of a pipe into lines as they arrive, in bounded memory. Pure.
///
/// A line has no carriage returns at its end and no byte order mark at its beginning: other systems write both around
/// lines, and files that are put together have a mark in the middle.
struct LineInput {
    struct Line: Equatable, Sendable {
        /// Invalid UTF-8 is replaced by U+FFFD.
        var text: String
        /// The number of bytes cut off the end of a line that is too long.
        var leftOutBytes: Int
    }

    private var kept: [UInt8] = []
    private var leftOutBytes = 0
    /// How many carriage returns end the line as far as it has come, left out or not.
    private var returns = 0
    private var hasBegun = false

    /// - Returns: the lines that end within these bytes.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            lines.append(drain())
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { keep(rest) }
        return lines
    }

    /// - Returns: a last line that has no line end; `nil` if there is none.
    mutating func finish() -> Line? { hasBegun ? drain() : nil }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        hasBegun = true
        let room = LogEntry.messageBytes - kept.count
        kept.append(contentsOf: bytes.prefix(room))
        leftOutBytes += max(0, bytes.count - room)
        let trailing = bytes.reversed().prefix { $0 == UInt8(ascii: "\r") }.count
        returns = trailing == bytes.count ? returns + trailing : trailing
    }

    private mutating func drain() -> Line {
        defer {
            kept.removeAll(keepingCapacity: kept.count <= 65_536)
            (leftOutBytes, returns) = (0, 0)
            hasBegun = false
        }
        let leftOutReturns = min(returns, leftOutBytes)
        leftOutBytes -= leftOutReturns
        let line = kept.dropLast(returns - leftOutReturns)
        let text = line.starts(with: PlainText.byteOrderMark) ? line.dropFirst(PlainText.byteOrderMark.count) : line
        return Line(text: String(decoding: text, as: UTF8.self), leftOutBytes: leftOutBytes)
    }
}

/// Groups lines into requests that fit into a frame of the control socket. Pure.
struct LogBatches {
    /// The most bytes of text in a request, which leaves room for its other fields. A larger line is sent alone.
    private static let maximumBytes = 600_000
    private static let bytesAroundLine = 64

    private var entries: [LogEntry] = []
    private var bytes = 0

    /// - Returns: the earlier batch if the line did not fit into it; `nil` if the line was added to it.
    mutating func add(_ entry: LogEntry) -> [LogEntry]? {
        let size =
            Self.bytesAroundLine + entry.message.utf8.count + entry.category.utf8.count
            + entry.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + Self.bytesAroundLine }
        let full = !entries.isEmpty && bytes + size > Self.maximumBytes ? drain() : nil
        entries.append(entry)
        bytes += size
        return full
    }

    /// Consumes the waiting lines.
    mutating func drain() -> [LogEntry] {
        defer { (entries, bytes) = ([], 0) }
        return entries
    }
}

/// Hands lines to the running agent of a directory, or writes them into the log store if no agent runs. One task uses
/// it.
final class LogHandover {
    private let access: DeviceAccess
    private let application: String
    /// The log store, opened if no agent runs.
    private var offline: OfflineLogs?
    private(set) var total: LogDelivery?

    /// - Parameter application: bundle id of the program that wrote the lines; empty for the agent's.
    init(_ access: DeviceAccess, application: String) {
        self.access = access
        self.application = application
    }

    /// - Throws: the failure that stopped it. Some of the lines may already be in the log.
    func deliver(_ entries: [LogEntry]) async throws(CommandError) {
        guard !entries.isEmpty else { return }
        let delivery = try await delivery(of: entries)
        if total == nil { total = delivery } else { total? += delivery }
        guard delivery.lost > 0 else { return }
        let written = (total?.written ?? 0) + (total?.ring ?? 0)
        throw CommandError(
            delivery.isTransient ? .tryAgain : .failed,
            """
            \(CountText.of(written, "line")) logged, \(delivery.lost) could not be: \
            \(delivery.reason ?? "no reason is known")
            """
        )
    }

    private func delivery(of entries: [LogEntry]) async throws(CommandError) -> LogDelivery {
        if let offline { return offline.deliver(entries) }
        var request = WireControlRequest()
        request.log.lines = entries.map(\.wire)
        request.log.application = application
        if let answer = try await access.askIfRunning(request) {
            return try StatusCommand.decode(LogDelivery.self, answer.json)
        }
        do throws(DataSamplerError) {
            let store = LogStore.Configuration(access.configuration, applicationName: "", applicationVersion: "")
                .directory
            let isNew = !FileManager.default.fileExists(atPath: store)
            let logs = try OfflineLogs(access.configuration, application: application)
            if isNew {
                StandardError.line(
                    """
                    ws1agent: no agent runs in \(access.configuration.directory), and there was no log: \(store) was \
                    made
                    """
                )
            }
            offline = logs
            return logs.deliver(entries)
        } catch {
            throw CommandError(error)
        }
    }
}

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
        commandName: "log", abstract: "Logs a line, or each line of standard input; done once it is in the log's file.",
        discussion: """
            A running agent takes it; without one it goes straight into the data directory's log, which is made \
            where there is none. Without MESSAGE each line of standard input \
            becomes a line of the log, as it comes: some-program 2>&1 | ws1agent log information --category some-program

            A line less severe than the level in force is no failure: it is said on standard error, and in what --json prints. A line longer \
            than 65,536 bytes ends in …[+N], N being the bytes left out; bytes that are no UTF-8 are replaced.
            """)

    @Argument(help: "error, warning, information (info) or verbose (debug).")
    var level: String

    @Argument(help: "The line; without it standard input is read. Behind -- it may begin with a dash.")
    var message: String?

    @Option(help: ArgumentHelp("What speaks, e.g. backup.nightly; up to 128 bytes.", valueName: "name"))
    var category: String = ""

    @Option(help: ArgumentHelp("A value beside the text; may be repeated.", valueName: "key=value"))
    var metadata: [String] = []

    @Flag(help: "Print what became of the lines as JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let template = try template()
        let handover = LogHandover(try DeviceAccess(options))
        var failure: CommandError?
        do throws(CommandError) { try await handOver(template, to: handover) } catch { failure = error }
        try tell(handover.total ?? LogDelivery(level: nil))
        if let failure { throw failure }
    }

    /// The line without its text.
    func template() throws(CommandError) -> LogEntry {
        guard let level = LogLevel(name: level) else {
            let names = LogLevel.allCases.map(\.name).joined(separator: ", ")
            throw CommandError(.usage, "the level is '\(self.level)': it must be one of \(names)")
        }
        if let message, message.isEmpty {
            throw CommandError(.usage, "the message is empty: give a text, or none to read standard input")
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
            // What has come is handed on before anything is waited for.
            try await handover.deliver(batches.take())
            if count == 0 { return }
        }
    }

    private func tell(_ delivery: LogDelivery) throws(CommandError) {
        if json {
            return try Output.json(delivery)
        }
        func lines(_ count: UInt64) -> String { count == 1 ? "1 line was" : "\(count) lines were" }
        let level =
            delivery.level.map { "less severe than the level in force, \($0)" } ?? "filtered: nothing is logged now"
        if delivery.ring > 0 {
            StandardError.line("ws1agent: \(lines(delivery.ring)) \(level): kept in the ring for a while")
        }
        if delivery.filtered > 0 { StandardError.line("ws1agent: \(lines(delivery.filtered)) \(level): not logged") }
    }
}

/// Cuts what comes from a pipe into lines, as it comes: a line of any length takes bounded memory. Pure.
struct LineInput {
    struct Line: Equatable, Sendable {
        /// Bytes that are no UTF-8 are replaced by U+FFFD.
        var text: String
        /// Of a line so long that its end is not kept.
        var leftOutBytes: Int
    }

    private var kept: [UInt8] = []
    private var leftOutBytes = 0
    private var hasBegun = false

    /// - Returns: lines that ended in these bytes.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            lines.append(take())
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { keep(rest) }
        return lines
    }

    /// - Returns: a last line without its end; `nil` where there is none.
    mutating func finish() -> Line? { hasBegun ? take() : nil }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        hasBegun = true
        let room = LogEntry.messageBytes - kept.count
        kept.append(contentsOf: bytes.prefix(room))
        leftOutBytes += max(0, bytes.count - room)
    }

    private mutating func take() -> Line {
        defer {
            kept.removeAll(keepingCapacity: kept.count <= 65_536)
            leftOutBytes = 0
            hasBegun = false
        }
        return Line(text: String(decoding: kept, as: UTF8.self), leftOutBytes: leftOutBytes)
    }
}

/// Gathers lines into requests that fit into a frame of the control socket. Pure.
struct LogBatches {
    /// Of texts in a request; with what is around them it stays under a frame's bound. A line that is larger goes
    /// alone.
    private static let maximumBytes = 600_000
    private static let bytesAroundLine = 64

    private var entries: [LogEntry] = []
    private var bytes = 0

    /// - Returns: a batch that is full before the line; `nil`: it goes with those that wait.
    mutating func add(_ entry: LogEntry) -> [LogEntry]? {
        let size =
            Self.bytesAroundLine + entry.message.utf8.count + entry.category.utf8.count
            + entry.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + Self.bytesAroundLine }
        let full = !entries.isEmpty && bytes + size > Self.maximumBytes ? take() : nil
        entries.append(entry)
        bytes += size
        return full
    }

    /// What waits.
    mutating func take() -> [LogEntry] {
        defer { (entries, bytes) = ([], 0) }
        return entries
    }
}

/// Hands lines to the agent that runs in a directory, or writes them into its log store where none runs. Not
/// `Sendable`: one task.
final class LogHandover {
    private let access: DeviceAccess
    /// Opened when no agent was found.
    private var offline: OfflineLogs?
    private(set) var total: LogDelivery?

    init(_ access: DeviceAccess) { self.access = access }

    /// - Throws: what stopped it; some of the lines may be in the log.
    func deliver(_ entries: [LogEntry]) async throws(CommandError) {
        guard !entries.isEmpty else { return }
        let delivery = try await delivery(of: entries)
        if total == nil { total = delivery } else { total? += delivery }
        guard delivery.lost > 0 else { return }
        let written = (total?.written ?? 0) + (total?.ring ?? 0)
        throw CommandError(
            delivery.isTransient ? .tryAgain : .failed,
            "\(written) lines were logged, \(delivery.lost) could not be: \(delivery.reason ?? "no reason is known")")
    }

    private func delivery(of entries: [LogEntry]) async throws(CommandError) -> LogDelivery {
        if let offline { return offline.deliver(entries) }
        var request = WireControlRequest()
        request.log.lines = entries.map(\.wire)
        if let answer = try await access.askIfRunning(request) {
            return try StatusCommand.decode(LogDelivery.self, answer.json)
        }
        do throws(DataSamplerError) {
            let store = LogStore.Configuration(access.configuration, applicationName: "", applicationVersion: "")
                .directory
            let isNew = !FileManager.default.fileExists(atPath: store)
            let logs = try OfflineLogs(access.configuration)
            if isNew {
                StandardError.line(
                    "ws1agent: no agent runs in \(access.configuration.directory), and there was no log: \(store) was made"
                )
            }
            offline = logs
            return logs.deliver(entries)
        } catch {
            throw CommandError(error)
        }
    }
}

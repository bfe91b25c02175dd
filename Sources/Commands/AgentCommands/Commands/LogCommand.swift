import ArgumentParser
import FoundationEssentials
import Glibc
import LogStore
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
        var failure: AgentError?
        do throws(AgentError) { try await handOver(template, to: handover) } catch { failure = error }
        try tell(handover.total ?? LogDelivery(level: nil))
        if let failure { throw failure }
    }

    /// The line without its text.
    func template() throws(AgentError) -> LogEntry {
        guard let level = LogLevel(name: level) else {
            let names = LogLevel.allCases.map(\.name).joined(separator: ", ")
            throw AgentError(.usage, "the level is '\(self.level)': it must be one of \(names)")
        }
        if let message, message.isEmpty { throw AgentError(.usage, "the message is empty: give a text, or none to read standard input") }
        return LogEntry(level, message ?? "", category: category, metadata: try KeyedValues.read(metadata, option: "--metadata"))
    }

    private func handOver(_ template: LogEntry, to handover: LogHandover) async throws(AgentError) {
        guard message == nil else { return try await handover.deliver([template]) }
        var input = LineInput()
        var batches = LogBatches()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw AgentError(.failed, "standard input cannot be read: \(String(cString: strerror(errno)))") }
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

    private func tell(_ delivery: LogDelivery) throws(AgentError) {
        if json {
            do { StandardStreams.output(try JSONText.bytes(delivery)) } catch { throw AgentError(error) }
            return
        }
        func lines(_ count: UInt64) -> String { count == 1 ? "1 line was" : "\(count) lines were" }
        let level = delivery.level.map { "less severe than the level in force, \($0)" } ?? "filtered: nothing is logged now"
        if delivery.ring > 0 { StandardStreams.error("ws1agent: \(lines(delivery.ring)) \(level): kept in the ring for a while") }
        if delivery.filtered > 0 { StandardStreams.error("ws1agent: \(lines(delivery.filtered)) \(level): not logged") }
    }
}

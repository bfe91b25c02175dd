import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import Logging
import RecordQueue
import TelemetryBasics
import WireModel

struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue", abstract: "Inspects and repairs the queue on disk.",
        subcommands: [
            QueueInspectCommand.self, QueueVerifyCommand.self, QueueRepairCommand.self, QueueExportCommand.self,
            QueueRetryCommand.self,
            QueueRebindCommand.self,
        ])
}

struct QueueInspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Shows streams, epochs, gaps, quarantined records and files.")

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.queue.verb = .inspect
        let answer = try await DeviceAccess(options.directory).perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.queueTools.inspect())
        }
        if options.json { return try Output.json(answer.json) }
        try Output.line(QueueText.of(try StatusCommand.decode(QueueInspection.self, answer.json)))
    }
}

struct QueueVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Recomputes every record's link and counts every row.",
        discussion: "Reads the whole queue. Exits 1 if something is wrong.")

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.queue.verb = .verify
        let answer = try await DeviceAccess(options.directory).perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.queueTools.verify())
        }
        let verification = try StatusCommand.decode(QueueVerification.self, answer.json)
        if options.json {
            try Output.json(answer.json)
        } else if verification.isWhole {
            try Output.line("\(CountText.of(verification.rows, "row")): the chain holds and all counts match the rows")
        } else {
            try Output.line(verification.findings.joined(separator: "\n"))
        }
        if !verification.isWhole {
            throw CommandError(
                .failed, "the queue is damaged: stop the agent, then save what is readable by `ws1agent queue repair`")
        }
    }
}

struct QueueRepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Saves the readable records of a damaged queue into a new one, and keeps the damaged file.",
        discussion: "No agent may run. An agent that finds its queue damaged does the same by itself.")

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        try access.requireQueue()
        let repair: QueueRepair
        do { repair = try OfflineSampler.repairQueue(access.configuration, logger: Logger(label: "ws1agent")) } catch {
            throw CommandError(error)
        }
        if options.json {
            return try Output.json(repair)
        }
        guard !repair.findings.isEmpty else { return try Output.line("nothing is wrong; nothing was changed") }
        try Output.line(
            (repair.findings + [
                """
                \(CountText.of(repair.salvaged, "record")) saved, \(repair.lost) lost; the damaged file is kept in \
                \(repair.file ?? "?")
                """
            ])
            .joined(separator: "\n"))
    }
}

struct QueueExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Prints the waiting records, one JSON object per line.",
        discussion: "Records that are sent or made during the export may be missing. Nothing is removed.")

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        var cursor: String?
        repeat {
            var request = WireControlRequest()
            request.queue.verb = .export
            request.queue.cursor = cursor ?? ""
            let after = cursor
            let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
                try .json(try await sampler.queueTools.export(after: after, limit: AgentControl.exportLimit))
            }
            let page = try StatusCommand.decode(QueueExport.self, answer.json)
            if !page.lines.isEmpty { try Output.json(Data(page.lines.joined(separator: "\n").utf8)) }
            cursor = page.next
        } while cursor != nil
    }
}

struct QueueRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Queues quarantined records again, so that they are sent.",
        discussion: """
            Each record gets a new number at the end of its stream. The old number stays counted as quarantined. Only \
            records that the collector does not have are sent; `queue inspect` shows what is known of each. Exits 75 \
            if it is not known yet whether the collector has one of them, and 1 if that cannot be found out any more.
            """)

    @Argument(help: "The numbers after # in `queue inspect` (default: all quarantined records).")
    var ids: [Int64] = []

    @Flag(help: "Also queue records that the collector may already have. It may then store them twice.")
    var uncertain = false

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.queue.verb = .retry
        request.queue.setAside = ids
        request.queue.uncertain = uncertain
        let (ids, uncertain) = (Set(ids), uncertain)
        let answer = try await DeviceAccess(options.directory).perform(request) {
            sampler throws(DataSamplerError) in
            try .json(try await sampler.queueTools.retry(ids, includingUncertain: uncertain))
        }
        let retry = try StatusCommand.decode(QueueRetry.self, answer.json)
        if options.json { try Output.json(answer.json) } else { try Output.line(QueueText.of(retry)) }
        if let unknown = retry.unknown.first {
            throw CommandError(
                .failed, "no record #\(unknown) is quarantined: `ws1agent queue inspect` shows those that are")
        }
        if retry.records.contains(where: { $0.outcome == .uncertain || $0.outcome == .unreadable }) {
            throw CommandError(
                .failed,
                "not all records were queued again; --uncertain queues the others too, which may store them twice")
        }
        if retry.records.contains(where: { $0.outcome == .open }) {
            throw CommandError(
                .tryAgain, "some records cannot be queued again yet: try again once their stream is sent")
        }
    }
}

struct QueueRebindCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebind", abstract: "Frees the queue from the collector, organization and device it belongs to.",
        discussion:
            """
            Use it after the device was given another collector. Without it, the waiting records stay on the device. \
            The next contact binds the queue anew.
            """
    )

    @Flag(help: "Send the waiting records to the new collector.")
    var send = false

    @Flag(help: "Drop the waiting records, and count them.")
    var drop = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard send != drop else { throw ValidationError("give either --send or --drop") }
    }

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        if drop { try confirmation.confirm("All records that wait on this device are dropped") }
        var request = WireControlRequest()
        request.queue.verb = send ? .rebindSend : .rebindDrop
        let sending = send
        _ = try await access.perform(request) { sampler throws(DataSamplerError) in
            try await sampler.queueTools.rebind(sending: sending)
            return .done
        }
        try Output.outcome(
            "the queue is free; \(send ? "the waiting" : "new") records go to the next collector contacted",
            ["sendsWaiting": send], asJSON: options.json)
    }
}

/// Describes a queue in words.
enum QueueText {
    static func of(_ queue: QueueInspection) -> String {
        var lines = ["epoch        \(queue.epoch) in \(queue.directory)"]
        if let collector = queue.collector {
            lines.append(
                """
                bound to     device \(queue.device ?? "?") of organization \(queue.organization ?? "?") at collector \
                \(collector)
                """
            )
        } else {
            lines.append("bound to     nobody yet")
        }
        if let divergence = queue.divergence { lines.append("diverged     \(divergence)") }
        for stream in queue.streams {
            lines.append(
                """
                \(padded(stream.stream))\(stream.waiting) waiting (\(CountText.of(stream.waitingBytes, "byte"))), \
                \(stream.markNumber) of \(stream.lastNumber) acknowledged, \(stream.apart) apart
                """
            )
            for gap in stream.gaps { lines.append("  gap        \(gap.first) to \(gap.last): \(gap.reason)") }
        }
        for ended in queue.ended {
            let state = ended.isClosed ? "closed at the collector" : "not closed yet, \(ended.waiting) apart"
            lines.append(
                "ended        \(ended.epoch): \(ended.end.rawValue), \(state)\(ended.cause.map { " (\($0))" } ?? "")")
        }
        for record in queue.quarantine {
            let fate = record.fate.map { ", \(words(ofFate: $0))" } ?? ""
            lines.append(
                """
                quarantined  #\(record.id) \(record.stream) \(record.number): \(record.reason), \
                \(CountText.of(record.bytes, "byte"))\(fate)
                """
            )
        }
        for file in queue.files { lines.append("file         \(file.name), \(CountText.of(file.bytes, "byte"))") }
        for file in queue.corruptFiles { lines.append("kept aside   \(file)") }
        return lines.joined(separator: "\n")
    }

    static func of(_ retry: QueueRetry) -> String {
        guard !retry.records.isEmpty else {
            return retry.unknown.isEmpty ? "nothing is quarantined" : "nothing was queued again"
        }
        return retry.records.map { record in
            let what =
                switch record.outcome {
                case .queued: "queued again as \(record.stream) \(record.newNumber ?? 0)"
                case .open: "stays: \(words(ofFate: QuarantineFate.open.rawValue))"
                case .uncertain: "stays: \(words(ofFate: QuarantineFate.uncertain.rawValue))"
                case .unreadable: "stays: its row is damaged"
                }
            return "#\(record.id) \(record.stream) \(record.number) \(what)"
        }.joined(separator: "\n")
    }

    private static func words(ofFate fate: String) -> String {
        switch fate {
        case QuarantineFate.open.rawValue: "the collector has not said yet whether it has the record"
        case QuarantineFate.notStored.rawValue: "the collector does not have it, `queue retry` sends it again"
        case QuarantineFate.uncertain.rawValue: "the collector may have it, which cannot be found out any more"
        default: fate
        }
    }

    private static func padded(_ title: String) -> String {
        title + String(repeating: " ", count: max(1, 13 - title.count))
    }
}

import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import Logging
import RecordQueue
import WireModel

struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue", abstract: "Looks into the queue on disk, and mends it.",
        subcommands: [
            QueueInspectCommand.self, QueueVerifyCommand.self, QueueRepairCommand.self, QueueExportCommand.self,
            QueueRetryCommand.self,
            QueueRebindCommand.self,
        ])
}

struct QueueInspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Shows streams, epochs, gaps, what is quarantined, and files.")

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.queue.verb = .inspect
        let answer = try await DeviceAccess(options).perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.queueTools.inspect())
        }
        if json { return try Output.json(answer.json) }
        try Output.line(QueueText.of(try StatusCommand.decode(QueueInspection.self, answer.json)))
    }
}

struct QueueVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Recomputes the chain of every record and counts every row.",
        discussion: "Reads everything. Ends with 1 where something is wrong.")

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.queue.verb = .verify
        let answer = try await DeviceAccess(options).perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.queueTools.verify())
        }
        let verification = try StatusCommand.decode(QueueVerification.self, answer.json)
        if json {
            try Output.json(answer.json)
        } else if verification.isWhole {
            try Output.line("\(verification.rows) rows: the chain holds and all counts are those of the rows")
        } else {
            try Output.line(verification.findings.joined(separator: "\n"))
        }
        if !verification.isWhole {
            throw CommandError(
                .failed, "the queue is damaged: `ws1agent queue repair` with no agent running saves what is readable")
        }
    }
}

struct QueueRepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Saves what is readable of a damaged queue into a new one; the bad file is kept aside.",
        discussion: "No agent may run. An agent that meets a damaged queue does the same by itself.")

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        try access.requireQueue()
        let repair: QueueRepair
        do { repair = try OfflineSampler.repairQueue(access.configuration, logger: Logger(label: "ws1agent")) } catch {
            throw CommandError(error)
        }
        if json {
            return try Output.json(repair)
        }
        guard !repair.findings.isEmpty else { return try Output.line("nothing is wrong; nothing was changed") }
        try Output.line(
            (repair.findings + [
                "\(repair.salvaged) records saved, \(repair.lost) lost; the bad file is in \(repair.file ?? "?")"
            ])
            .joined(separator: "\n"))
    }
}

struct QueueExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Prints the records that wait, one JSON object to a line.",
        discussion: "What is sent or recorded meanwhile is there or not. Nothing is removed.")

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
        commandName: "retry", abstract: "Sends records again that were quarantined because they alone were refused.",
        discussion: """
            Each gets a new number at the end of its stream; the old one stays counted as quarantined. Only records that the collector does not \
            have are sent; `queue inspect` shows what is known of each. Ends with 75 where the collector has not said yet whether it has one, and \
            with 1 where nobody can tell any more.
            """)

    @Argument(help: "The numbers behind # in `queue inspect`; none: all that are quarantined.")
    var ids: [Int64] = []

    @Flag(help: "Also records that the collector may have. It may then store them twice.")
    var uncertain = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.queue.verb = .retry
        request.queue.setAside = ids
        request.queue.uncertain = uncertain
        let (ids, uncertain) = (Set(ids), uncertain)
        let answer = try await DeviceAccess(options).perform(request) {
            sampler throws(DataSamplerError) in
            try .json(try await sampler.queueTools.retry(ids, includingUncertain: uncertain))
        }
        let retry = try StatusCommand.decode(QueueRetry.self, answer.json)
        if json { try Output.json(answer.json) } else { try Output.line(QueueText.of(retry)) }
        if let unknown = retry.unknown.first {
            throw CommandError(
                .failed, "no record #\(unknown) is quarantined: `ws1agent queue inspect` shows those that are")
        }
        if retry.records.contains(where: { $0.outcome == .uncertain || $0.outcome == .unreadable }) {
            throw CommandError(
                .failed,
                "not all were queued again; what is uncertain goes with --uncertain, and may then be stored twice")
        }
        if retry.records.contains(where: { $0.outcome == .open }) {
            throw CommandError(.tryAgain, "not all were queued again yet: try again once their stream has been sent")
        }
    }
}

struct QueueRebindCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebind", abstract: "Frees the queue from the collector, organization and device it belongs to.",
        discussion:
            "For a device that was pointed elsewhere: until this is said, what waits is for nobody else. The next contact binds it anew."
    )

    @Flag(help: "What waits is sent to the new one.")
    var send = false

    @Flag(help: "What waits is dropped, and counted.")
    var drop = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: DirectoryOptions

    func validate() throws {
        guard send != drop else { throw ValidationError("give either --send or --drop") }
    }

    func run() async throws {
        let access = try DeviceAccess(options)
        if drop { try confirmation.confirm("All records that wait on this device are dropped") }
        var request = WireControlRequest()
        request.queue.verb = send ? .rebindSend : .rebindDrop
        let sending = send
        _ = try await access.perform(request) { sampler throws(DataSamplerError) in
            try await sampler.queueTools.rebind(sending: sending)
            return .done
        }
        try Output.line(
            "the queue is free; what \(send ? "waits goes to" : "comes is for") the next collector that is asked")
    }
}

/// A queue in words.
enum QueueText {
    static func of(_ queue: QueueInspection) -> String {
        var lines = ["epoch        \(queue.epoch) in \(queue.directory)"]
        if let collector = queue.collector {
            lines.append(
                "bound to     device \(queue.device ?? "?") of organization \(queue.organization ?? "?") at collector \(collector)"
            )
        } else {
            lines.append("bound to     nobody yet")
        }
        if let divergence = queue.parting { lines.append("diverged     \(divergence)") }
        for stream in queue.streams {
            lines.append(
                "\(padded(stream.stream))\(stream.waiting) waiting (\(stream.waitingBytes) bytes), \(stream.markNumber) of "
                    + "\(stream.lastNumber) acknowledged, \(stream.apart) apart"
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
                "quarantined  #\(record.id) \(record.stream) \(record.number): \(record.reason), \(record.bytes) bytes\(fate)"
            )
        }
        for file in queue.files { lines.append("file         \(file.name), \(file.bytes) bytes") }
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
                case .open: "stays: \(words(ofFate: "\(QuarantineFate.open)"))"
                case .uncertain: "stays: \(words(ofFate: "\(QuarantineFate.uncertain)"))"
                case .unreadable: "stays: its row is damaged"
                }
            return "#\(record.id) \(record.stream) \(record.number) \(what)"
        }.joined(separator: "\n")
    }

    private static func words(ofFate fate: String) -> String {
        switch fate {
        case "\(QuarantineFate.open)": "the collector has not said yet whether it has it"
        case "\(QuarantineFate.notStored)": "not at the collector, `queue retry` sends it again"
        case "\(QuarantineFate.uncertain)": "the collector may have it, nobody can tell any more"
        default: fate
        }
    }

    private static func padded(_ title: String) -> String {
        title + String(repeating: " ", count: max(1, 13 - title.count))
    }
}

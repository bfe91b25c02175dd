import ArgumentParser
import CollectorAPI
import CommandKit
import Foundation
import LogArchive
import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

struct PurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Remove old records or logs for good; works while a collector runs.",
        discussion: """
            Shows what would be removed and asks for confirmation, unless --yes is given. Records are removed in whole \
            days, of all organizations together, never of the current day; their counts stay in the balance. By \
            default, logs that arrived two weeks ago or earlier are removed. Devices never send removed data again. \
            The audit trail records each purge.

            Examples:
              ws1collector purge --logs
              ws1collector purge --logs --older-than 30d --organization west --application com.example.kiosk --yes
              ws1collector purge --records --older-than 60d --stream sample
            """)

    static let defaultLogDays = 14
    /// The time to wait for a running collector, which looks for requests every ten seconds.
    private static let waitSeconds = 120

    @OptionGroup var options: DataOptions

    @Flag(help: "Remove records.")
    var records = false

    @Flag(help: "Delete logs.")
    var logs = false

    @Option(
        help: ArgumentHelp("Least age to remove, in days (14d) or weeks (2w); required for records.", valueName: "age"))
    var olderThan: String?

    @OptionGroup var named: StreamOptions

    @Option(help: ArgumentHelp("Only logs of this organization.", valueName: "name"))
    var organization: String?

    @Option(help: ArgumentHelp("Only logs of this application.", valueName: "id"))
    var application: String?

    @Flag(help: "Print what was removed as JSON; what would be removed goes to standard error.")
    var json = false

    @OptionGroup var confirmation: ConfirmationOptions

    func run() async throws {
        let days = try checkedDays()
        let settings = try options.dataSettings()
        try await settings.withData { data in
            try MetadataSnapshot(data.registry).require(organization: organization)
            var removed = Removed()
            if records { removed.files = try await purgeRecords(data, days: days) }
            if logs { removed.chunks = try await purgeLogs(data, days: days, quotas: settings.logQuotas) }
            if json { try Output.json(removed) }
        }
    }

    private struct Removed: Encodable {
        /// Files of records.
        var files = 0
        /// Chunks of logs.
        var chunks = 0
    }

    /// A line for people.
    private func show(_ text: String) throws(CommandError) {
        if json { StandardError.line(text) } else { try Output.line(text) }
    }

    private func checkedDays() throws(CommandError) -> Int {
        guard records || logs else { throw CommandError(.usage, "Give what to remove: --records or --logs.") }
        guard named.stream.isEmpty || records else {
            throw CommandError(.usage, "--stream is for records; give --records too.")
        }
        guard organization == nil && application == nil || !records else {
            throw CommandError(.usage, "--organization and --application are for logs only; leave them out.")
        }
        guard let olderThan else {
            guard !records else {
                throw CommandError(.usage, "--older-than is missing. Give the least age of the records, such as 60d.")
            }
            return Self.defaultLogDays
        }
        guard let days = Self.days(olderThan) else {
            throw CommandError(
                .usage,
                """
                --older-than is \(olderThan); expected days or weeks such as 14d or 2w, 1 to \
                \(SharedRanges.days.upperBound) days.
                """
            )
        }
        return days
    }

    static func days(_ text: String) -> Int? {
        guard let unit = text.last, let number = Int(text.dropLast()), SharedRanges.days.contains(number) else {
            return nil
        }
        let days = unit == "d" ? number : unit == "w" ? number * 7 : 0
        return SharedRanges.days.contains(days) ? days : nil
    }

    /// - Returns: the removed files.
    private func purgeRecords(_ data: any CollectorData, days: Int) async throws -> Int {
        let purge = try RecordPurge(data.registry, clock: SystemStoreClock())
        let plan = try await purge.plan(
            of: try await data.records(), olderThanDays: days, streams: try named.streams())
        guard !plan.files.isEmpty else {
            try show("No whole day of records is older than \(CountText.of(days, "day")).")
            return 0
        }
        for stream in plan.streams {
            try show(
                """
                \(stream.stream): \(CountText.of(stream.files, "day")), \(stream.oldest) to \(stream.newest), \
                \(CountText.of(stream.bytes, "byte"))
                """
            )
        }
        try confirmation.confirm("These records of all organizations will be removed for good")
        let count = try await data.removing { try await purge.remove(plan, by: .commandLine, in: $0) }
        let removed: Int
        if let count {
            removed = count
        } else {
            removed = try await wait(for: try purge.ask(plan, by: .commandLine), of: purge)
        }
        try show("\(CountText.of(removed, "file")) removed.")
        return removed
    }

    /// - Returns: the removed files.
    private func wait(for ticket: PurgeTicket, of purge: RecordPurge) async throws -> Int {
        try show("Asked the collector, which looks for requests every ten seconds.")
        for _ in 0..<Self.waitSeconds {
            if let count = try purge.answer(to: ticket) { return count }
            try await Task.sleep(for: .seconds(1))
        }
        try purge.withdraw(ticket)
        throw CommandError(
            .tryAgain,
            "The collector did not answer within \(Self.waitSeconds) s; the request is withdrawn. If the collector "
                + "had begun, it goes on. The audit trail tells how it ended.")
    }

    /// - Returns: the deleted chunks.
    private func purgeLogs(_ data: any CollectorData, days: Int, quotas: LogQuotas) async throws -> Int {
        try await data.withMetadata { metadata in
            try await purgeLogs(
                try LogPurge(metadata, quotas: quotas, chunks: try data.chunks(), clock: SystemStoreClock()), days: days
            )
        }
    }

    private func purgeLogs(_ purge: LogPurge, days: Int) async throws -> Int {
        let query = purge.query(olderThanDays: days, organization: organization, application: application)
        let found = try await purge.deletion(query)
        guard found.chunks > 0 else {
            try show("No logs are older than \(CountText.of(days, "day")).")
            return 0
        }
        try show(
            """
            logs: \(CountText.of(found.chunks, "chunk")) of \(CountText.of(found.devices, "device")), \
            \(CountText.of(found.lines, "line")), \(CountText.of(found.rawBytes, "byte")) of text
            """
        )
        try confirmation.confirm("These logs will be deleted for good")
        guard let deleted = try await purge.delete(query, confirmation: found.confirmation) else {
            throw CommandError(.tryAgain, "The logs of that age have changed meanwhile. Run the command again.")
        }
        try show("\(CountText.of(deleted.chunks, "chunk")) deleted.")
        return deleted.chunks
    }
}

import Logging
import WireModel

/// For `ws1agent queue inspect|verify|repair|export`: through a running agent, or with none running over a queue opened for it.
extension RecordQueue {
    /// What is there.
    package func inspect() async throws(QueueError) -> QueueInspection {
        try await run(committingFirst: true) { try $0.inspect() }
    }

    /// Recomputes the chain and all counts. Reads everything: seconds for a large queue, during which nothing else is committed.
    package func verify() async throws(QueueError) -> QueueVerification {
        try await run(committingFirst: true) { try $0.verify() }
    }

    /// Records as JSON, one to a line, page by page; what changes between two pages is there or not.
    /// - Parameters:
    ///   - cursor: `next` of the page before; `nil` from the start.
    ///   - limit: lines, 1 to 10,000.
    /// - Throws: `.invalid` for a cursor of no place.
    package func export(after cursor: String? = nil, limit: Int = 1000) async throws(QueueError) -> QueueExport {
        try await run(committingFirst: true) { try $0.export(after: cursor, limit: min(max(1, limit), 10_000)) }
    }

    /// Salvages a queue on demand, with no agent running: where `verify` finds anything, the file is moved aside and what is readable goes
    /// into a new one, in a new epoch.
    /// - Throws: `.inUse` while an agent runs, `.newerVersion`, `.diskFull`, `.io`.
    package static func repair(
        directory: String, configuration: Configuration = Configuration(), clock: any RecordClock, logger: Logger
    ) throws(QueueError) -> QueueRepair {
        let lock = try DirectoryLock(directory: directory)
        defer { withExtendedLifetime(lock) {} }
        do {
            let before = SalvageFiles(directory: directory).kept
            var (store, _) = try Salvage.open(
                directory: directory, configuration: configuration, clock: clock, logger: logger)
            var findings: [String] = []
            if SalvageFiles(directory: directory).kept == before {
                findings = try store.verify().findings
                guard let first = findings.first else {
                    try store.close()
                    return QueueRepair(findings: [], file: nil, salvaged: 0, lost: 0)
                }
                try store.close()
                try Salvage.replace(
                    "repair: \(first)", files: SalvageFiles(directory: directory), configuration: configuration, clock: clock,
                    logger: logger)
                store = try QueueStore(directory: directory, configuration: configuration, clock: clock, logger: logger)
            }
            let note = store.state.ended.last { $0.salvage != nil }?.salvage
            try store.close()
            return QueueRepair(
                findings: findings.isEmpty ? [note?.cause ?? ""] : findings, file: note?.file, salvaged: note?.salvaged ?? 0,
                lost: note?.lost ?? 0)
        } catch {
            throw QueueError(error)
        }
    }
}

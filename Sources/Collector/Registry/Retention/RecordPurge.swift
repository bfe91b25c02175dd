import Crypto
import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// Removes records older than an administrator says, with or without a collector that runs.
package struct RecordPurge: Sendable {
    private let registry: any Registry
    private let clock: any StoreClock

    /// - Throws: `.notFound` if there is no collector's data.
    package init(_ registry: any Registry, clock: any StoreClock) throws(StoreError) {
        self.registry = registry
        self.clock = clock
        try registry.requireCollector()
    }

    /// Whole days whose newest record is older; never the present day.
    /// - Parameter days: 1 or more.
    /// - Throws: `.conflict` while the clock is in doubt.
    package func plan(
        of store: any RecordStore, olderThanDays days: Int, streams: Set<StreamName>
    ) async throws(StoreError) -> PurgePlan {
        try RetentionService(registry).requireTrustedClock()
        var plan = PurgePlan(files: [])
        for stream in streams.sorted() {
            for removal in try await store.removals(
                of: stream, at: clock.now(), limits: RetentionLimits.Stream(days: days))
            {
                plan.files.append(
                    PurgePlan.File(
                        partition: Partition(day: removal.file.day, stream: stream), bytes: removal.file.bytes))
            }
        }
        return plan
    }

    /// Removes these files, while no collector removes any. Writes to the audit trail before and after.
    /// - Returns: the number of removed files.
    /// - Throws: `.conflict` if it could not remove all of them.
    package func remove(
        _ plan: PurgePlan, by actor: AuditActor, in store: any RecordStore
    ) async throws(StoreError) -> Int {
        // An unfinished purge of another process was confirmed, too.
        if let left = try pending() { _ = try await carryOut(left, store) }
        let request = PurgeRequest(plan, actor: actor)
        try ask(request)
        return try Self.count(try await carryOut(request, store))
    }

    /// Asks the collector that removes records to remove these files.
    /// - Throws: `.inUse` if an earlier request still waits.
    package func ask(_ plan: PurgePlan, by actor: AuditActor) throws(StoreError) -> PurgeTicket {
        let request = PurgeRequest(plan, actor: actor)
        try ask(request)
        return PurgeTicket(id: request.id)
    }

    private func pending() throws(StoreError) -> PurgeRequest? {
        try withState { state throws(StoreError) in try state.request() }
    }

    private func ask(_ request: PurgeRequest) throws(StoreError) {
        let isAsked = try withState { state throws(StoreError) in try state.ask(request, at: clock.now()) }
        guard isAsked else { throw .purgeWaiting }
    }

    private func carryOut(
        _ request: PurgeRequest, _ store: any RecordStore
    ) async throws(StoreError) -> PurgeRequest.Answer {
        let answer = try await request.carryOut(in: store)
        try withState { state throws(StoreError) in try state.answer(answer, to: request, at: clock.now()) }
        return answer
    }

    private func withState<Value>(_ body: (RetentionState) throws(StoreError) -> Value) throws(StoreError) -> Value {
        let connection = try registry.openWriting()
        return try connection.transaction { () throws(StoreError) in
            try body(RetentionState(connection: connection))
        }
    }

    /// The collector's answer to the request.
    /// - Returns: the number of removed files; `nil` while the request waits.
    /// - Throws: `.conflict` if it could not remove all of them.
    package func answer(to ticket: PurgeTicket) throws(StoreError) -> Int? {
        let connection = try registry.openReading()
        let answer = try RetentionState(connection: connection).answer()
        guard let answer, answer.id == ticket.id else { return nil }
        return try Self.count(answer)
    }

    private static func count(_ answer: PurgeRequest.Answer) throws(StoreError) -> Int {
        guard let failure = answer.failure else { return answer.removedFiles }
        throw StoreError(.conflict, "\(CountText.of(answer.removedFiles, "file")) removed, then it failed: \(failure)")
    }

    /// The collector shall not do any more what it was asked.
    package func withdraw(_ ticket: PurgeTicket) throws(StoreError) {
        try withState { state throws(StoreError) in
            try state.withdraw(ticket.id, because: "withdrawn", at: clock.now())
        }
    }
}

/// The id of a request for a purge that a collector was asked for.
package struct PurgeTicket: Equatable, Sendable {
    package let id: UUID
}

extension StoreError {
    static let purgeWaiting = StoreError(
        .inUse,
        "another purge runs within ten seconds. Check what is left after it."
    )
}

/// The record files that a purge would remove.
package struct PurgePlan: Equatable, Sendable {
    package struct File: Equatable, Sendable {
        package var partition: Partition
        package var bytes: Int64
    }

    /// The files of one stream that a purge removes.
    package struct Stream: Equatable, Sendable {
        package var stream: StreamName
        package var files: Int
        package var bytes: Int64
        package var oldest: UTCDay
        package var newest: UTCDay
    }

    /// Oldest first in each stream.
    package var files: [File]

    /// Streams that lose files.
    package var streams: [Stream] {
        StreamName.allCases.compactMap { stream in
            let found = files.filter { $0.partition.stream == stream }
            guard let first = found.first, let last = found.last else { return nil }
            return Stream(
                stream: stream, files: found.count, bytes: found.reduce(0) { $0 + $1.bytes },
                oldest: first.partition.day, newest: last.partition.day)
        }
    }

    /// A digest of the names of the files. It confirms a purge of these files alone.
    package var confirmation: String {
        Data(SHA256.hash(data: Data(files.map(\.partition.name).joined(separator: "\n").utf8)).prefix(16)).hexadecimal
    }
}

/// The names of the record files that an administrator confirmed for removal. The request stays in the registry until
/// it is done. So a command can ask a running collector, which holds the files, and a killed collector continues
/// at its next start.
package struct PurgeRequest: Equatable, Codable {
    package struct File: Equatable, Codable {
        package var day: Int
        package var stream: StreamName

        init(_ partition: Partition) {
            day = partition.day.number
            stream = partition.stream
        }

        package var partition: Partition { Partition(day: UTCDay(number: day), stream: stream) }
    }

    /// The result.
    package struct Answer: Equatable, Codable {
        package var id: UUID
        package var removedFiles: Int
        package var failure: String?
    }

    package var id = UUID()
    /// Oldest first in each stream.
    package var files: [File]
    /// Who asks.
    package var actor: AuditActor

    init(_ plan: PurgePlan, actor: AuditActor) {
        files = plan.files.map { File($0.partition) }
        self.actor = actor
    }

    /// Removes the files, oldest first in each stream; those that are gone already count as removed.
    /// - Throws: `.shuttingDown` alone: it is asked again by the next process. What else fails is in the answer.
    package func carryOut(in store: any RecordStore) async throws(StoreError) -> Answer {
        var answer = Answer(id: id, removedFiles: 0)
        for partition in files.map(\.partition) {
            do throws(StoreError) { try await store.drop(partition) } catch {
                if error.code == .shuttingDown { throw error }
                guard error.code == .notFound else {
                    answer.failure = error.message
                    break
                }
            }
            answer.removedFiles += 1
        }
        // An earlier attempt may have been cut short after a file no longer counted, and before its bytes were gone.
        do throws(StoreError) { try await store.reclaim() } catch {
            if error.code == .shuttingDown { throw error }
            answer.failure = answer.failure ?? error.message
        }
        return answer
    }

    /// The id as people see it.
    var idText: String { id.uuidString.lowercased() }

    /// The entry for the whole collector, because a record file has the records of all organizations.
    func auditEntry(_ outcome: AuditEntry.Outcome, _ detail: [String: String] = [:]) -> AuditEntry {
        var reported = detail
        reported["files"] = "\(files.count)"
        reported["streams"] = Set(files.map(\.stream)).sorted().map { "\($0)" }.joined(separator: " ")
        let days = files.map(\.partition.day)
        reported["oldest"] = days.min()?.description
        reported["newest"] = days.max()?.description
        return AuditEntry(
            .recordsPurge, by: actor, organization: "", subject: idText, detail: reported, outcome: outcome)
    }
}

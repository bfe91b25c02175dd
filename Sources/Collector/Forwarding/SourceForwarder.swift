import CollectorTunables
import LogArchive
import Logging
import OTLP
import RecordStore
import Registry
import Synchronization
import WireModel

/// Sends what one source has to one endpoint, in its order, one request at a time. Both records and lines are called
/// records here.
///
/// `ForwardStateMachine` decides. In memory is one page of the source and one request of it.
struct SourceForwarder: Sendable {
    /// What others may ask while it runs.
    struct Condition: Sendable {
        /// When the oldest record was received that was read and not taken yet; `nil` while none waits.
        var oldest: Int64?
        var waiting = 0
        /// By `ContinuousClock`, microseconds since the forwarder was made.
        var failingSince: Int64?
        var reason = ""
    }

    let name: String
    let endpoint: ForwardEndpoint
    let source: ForwardSource
    let store: any RecordStore
    let archive: LogArchive
    let metadata: MetadataService
    let devices: ForwardDevices
    let client: any ForwardClient
    let metrics: ForwardMetrics
    let clock: any StoreClock
    let logger: Logger
    let condition = ConditionBox()

    final class ConditionBox: Sendable {
        let state = Mutex(Condition())
        let began = ContinuousClock.now

        func now() -> Int64 {
            let (seconds, attoseconds) = (ContinuousClock.now - began).components
            return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        }
    }

    /// Forwards until the task is cancelled.
    func run() async {
        guard let cursor = await cursor() else { return }
        var work = Work(
            reader: ForwardReader(source, endpoint, since: cursor.since, store: store, archive: archive),
            position: cursor.position,
            mapping: ForwardMapping(endpoint, devices: Tunables.Forwarding.devices))
        var action = ForwardStateMachine.Action.read
        while !Task.isCancelled {
            action = await perform(action, &work)
            report(work)
        }
    }

    private struct Work {
        let reader: ForwardReader
        /// Where the cursor is.
        var position: String
        /// Where the page ends.
        var end = ""
        var page: [ForwardEntry] = []
        var rows: [DeviceID: DeviceRow] = [:]
        /// Records of the page that are done.
        var done = 0
        var mapping: ForwardMapping
        var machine = ForwardStateMachine()
        /// The last reason that was logged.
        var logged = ""
    }

    /// Waits for the registry as long as it cannot be used.
    private func cursor() async -> ForwardCursor? {
        var failures = 0
        while !Task.isCancelled {
            do throws(StoreError) {
                let since = endpoint.withBacklog ? 0 : clock.now()
                return try await metadata.forwardCursor(of: name, source: source.name, since: since)
            } catch {
                if failures == 0 {
                    logger.warning(
                        "the place where forwarding goes on cannot be read",
                        metadata: ["forward.endpoint": "\(name)", "store.error": "\(error)"])
                }
                failures += 1
                try? await Task.sleep(for: min(.seconds(failures), Tunables.Forwarding.longestWindow))
            }
        }
        return nil
    }

    private func perform(
        _ action: ForwardStateMachine.Action, _ work: inout Work
    ) async -> ForwardStateMachine.Action {
        switch action {
        case .read: return await read(&work)
        case .send(let first, let limit): return await send(first, limit, &work)
        case .wait(let duration):
            try? await Task.sleep(for: duration)
            return Task.isCancelled ? action : work.machine.waited()
        case .moveCursor: return await moveCursor(&work)
        }
    }

    // MARK: Steps

    private func read(_ work: inout Work) async -> ForwardStateMachine.Action {
        work.page = []
        work.done = 0
        do throws(StoreError) {
            let page = try await page(after: work.position, work.reader)
            work.end = page.end
            work.rows = try await devices.rows(of: Set(page.entries.map(\.device)))
            work.page = page.entries
            metrics.count(.unreadable, page.unreadable)
            // A page may end before the store's end and have no record.
            return work.machine.read(page.entries.count, hasMoved: work.end != work.position)
        } catch {
            return failed(
                work.machine.couldNotRead("the store cannot be read: \(error)", at: condition.now(), roll: roll), &work)
        }
    }

    private func page(
        after position: String, _ reader: ForwardReader
    ) async throws(StoreError) -> ForwardReader.Page {
        do throws(StoreError) { return try await reader.page(after: position) } catch {
            // The directory was moved into a cluster, or the other way round.
            guard error.code == .invalid, !position.isEmpty else { throw error }
            logger.warning(
                "the place where forwarding goes on is of another store; it begins anew, and some records go again",
                metadata: ["forward.endpoint": "\(name)", "forward.stream": "\(source.name)"])
            return try await reader.page(after: "")
        }
    }

    private func send(_ first: Int, _ limit: Int, _ work: inout Work) async -> ForwardStateMachine.Action {
        var request = ForwardRequest(source.signal)
        let rows = work.rows
        let count = request.add(work.page[first...], limit: limit, of: rows, &work.mapping) { entry in
            guard let row = rows[entry.device] else { return false }
            return endpoint.organizations.isEmpty || endpoint.organizations.contains(row.organization)
        }
        guard request.items > 0 else {
            metrics.count(.unreadable, request.unreadable)
            work.done = first + count
            return work.machine.passed(count)
        }
        let answer = await client.send(request.body, of: source.signal)
        // Whether it was taken is not known, so it goes again.
        if Task.isCancelled { return .send(first: first, limit: limit) }
        let (fate, next) = work.machine.answered(answer, to: count, at: condition.now(), roll: roll)
        switch fate {
        case .sent:
            metrics.count(.sent, request.records)
            metrics.count(.unreadable, request.unreadable)
            work.done = first + count
            if case .accepted(let rejected, let message) = answer {
                metrics.took(request.items, rejected: rejected)
                if rejected > 0 || !message.isEmpty { log(rejected: rejected, message) }
            }
            work.logged = ""
        case .dropped(let why):
            metrics.count(.dropped, request.records)
            metrics.count(.unreadable, request.unreadable)
            work.done = first + count
            logger.warning(
                "records were refused for good, and are not forwarded",
                metadata: [
                    "forward.endpoint": "\(name)", "forward.stream": "\(source.name)",
                    "forward.records": "\(request.records)", "reason": "\(why)",
                ])
        case .kept:
            metrics.retried()
            return failed(next, &work)
        }
        return next
    }

    private func moveCursor(_ work: inout Work) async -> ForwardStateMachine.Action {
        do throws(StoreError) {
            guard
                try await metadata.moveForwardCursor(
                    of: name, source: source.name, from: work.position, to: work.end)
            else {
                // Another collector goes on from its own place. What it has not sent is sent from here again.
                let cursor = try await metadata.forwardCursor(of: name, source: source.name, since: 0)
                work.position = cursor.position
                return work.machine.movedCursor()
            }
            work.position = work.end
            work.page = []
            work.done = 0
            return work.machine.movedCursor()
        } catch {
            return failed(
                work.machine.couldNotMoveCursor(
                    "the registry cannot be written: \(error)", at: condition.now(), roll: roll), &work)
        }
    }

    // MARK: Reports

    private var roll: Double { Double.random(in: 0..<1) }

    /// Logs a failure once, until the endpoint takes records again or the reason changes.
    private func failed(
        _ next: ForwardStateMachine.Action, _ work: inout Work
    ) -> ForwardStateMachine.Action {
        let reason = work.machine.reason
        if reason != work.logged, !reason.isEmpty, !Task.isCancelled {
            work.logged = reason
            logger.warning(
                "records are not forwarded now; they are sent later",
                metadata: [
                    "forward.endpoint": "\(name)", "forward.stream": "\(source.name)", "reason": "\(reason)",
                ])
        }
        return next
    }

    private func log(rejected: Int, _ message: String) {
        logger.warning(
            rejected > 0
                ? "the receiver took a request but for some items" : "the receiver took a request with a remark",
            metadata: [
                "forward.endpoint": "\(name)", "forward.stream": "\(source.name)", "forward.items": "\(rejected)",
                "message": "\(message)",
            ])
    }

    private func report(_ work: Work) {
        let oldest = work.done < work.page.count ? work.page[work.done].receivedAt : nil
        let waiting = work.page.count - work.done
        condition.state.withLock { state in
            (state.oldest, state.waiting) = (oldest, waiting)
            (state.failingSince, state.reason) = (work.machine.failingSince, work.machine.reason)
        }
        measure()
    }

    /// Sets the gauges; the lag grows by itself while nothing happens.
    func measure() {
        let state = condition.state.withLock { $0 }
        metrics.waits(state.waiting, lagMicroseconds: state.oldest.map { clock.now() - $0 } ?? 0)
    }

    /// Why the endpoint has failed for so long that somebody should hear of it; `nil` if it has not.
    func trouble() -> String? {
        let state = condition.state.withLock { $0 }
        guard let since = state.failingSince,
            condition.now() - since >= Tunables.Forwarding.patience.components.seconds * 1_000_000
        else { return nil }
        return state.reason
    }
}

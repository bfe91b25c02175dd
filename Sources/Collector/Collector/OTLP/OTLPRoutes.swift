import CollectorTunables
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import OTLP
import RecordStore
import Registry
import WireModel

/// Receives logs and metrics as OTLP/HTTP. `Schemas/otlp/README.md` has the design.
///
/// ```
/// token ─► type ─► body ─► decode ─► rules ─► items by device ─► standing ─► quotas ─► turn ─► store ─► 200
///                  limits and budget                            new devices
/// ```
///
/// A refusal leaves here as a `Problem`; `OTLPExchange` makes the answer of it that a sender of OTLP understands. 200
/// comes after the sync, and says in `partial_success` what was rejected for good.
struct OTLPRoutes: RouteGroup {
    let shared: RouteContext
    let limits: OTLPLimits
    let executor: PeopleExecutor
    let turns: OTLPTurns

    func add(to router: CollectorRouter) {
        router.otlpSenders
            .post(RouterPath(OTLPSignal.logs.path)) { request, context in
                try await receive(OTLPLogsRequest.self, request, context) { received, tally in
                    OTLPItems(
                        received, tally, organization: context.caller.organization, receivedAt: context.now)
                }
            }
            .post(RouterPath(OTLPSignal.metrics.path)) { request, context in
                let isForwarded = HTTPField.Name(OTLPMetric.forwardedHeader).flatMap { request.headers[$0] } == "1"
                return try await receive(OTLPMetricsRequest.self, request, context) { received, tally in
                    OTLPItems(
                        received, tally, organization: context.caller.organization, receivedAt: context.now,
                        isForwarded: isForwarded)
                }
            }
    }

    private func receive<Received: OTLPRequest>(
        _ type: Received.Type, _ request: Request, _ context: OTLPContext,
        makeItems: (Received, OTLPTally) -> OTLPItems
    ) async throws -> Response {
        guard let encoding = OTLPExchange(request.head)?.encoding else {
            let expected = OTLPEncoding.allCases.map(\.contentType).joined(separator: " or ")
            throw Problem.unsupportedMediaType("Content-Type must be \(expected).")
        }
        let sender = context.caller
        let start = ContinuousClock.now
        if let full = metadata.recordRefusal(ofOrganization: sender.organization, at: context.now) {
            throw Problem.otlpQuota(full)
        }
        return try await reader.readOTLP(request, context, limit: limits.bodyBytes) { body, received, place in
            reader.metrics.readOTLP(Received.signal, compressed: received, inflated: body.count)
            // Decoding a large request takes seconds. Swift's own threads stay free for devices meanwhile, and tokens
            // take turns.
            var items = try await withTaskExecutorPreference(executor.lane(of: sender.tokenID)) {
                var decoded: Received
                do {
                    decoded = try Received.decode(body, as: encoding, limits: limits) { elements in
                        try place.grow(by: elements * IngestBudget.otlpElementBytes)
                    }
                } catch let error as OTLPError { throw Problem.ofOTLP(error) }
                let tally = decoded.removeForbidden()
                return makeItems(decoded, tally)
            }
            try await keep(&items, of: Received.signal, since: start, context)
            reader.metrics.stored(Received.signal, items.tally)
            return OTLPAnswer.accepted(Received.signal, items.tally, as: encoding).response
        }
    }

    // MARK: Storing

    /// Returns once every item is on synced disk, or rejected in the tally.
    /// - Throws: `Problem` if something was not stored that may be stored later.
    private func keep(
        _ items: inout OTLPItems, of signal: OTLPSignal, since start: ContinuousClock.Instant, _ context: OTLPContext
    ) async throws {
        let named = items.filled
        guard !named.isEmpty else { return }
        guard named.count <= Tunables.OTLP.devicesPerRequest else {
            throw Problem(
                status: 413, code: .tooMuch, title: "Too many devices",
                detail:
                    "The request has resources of \(named.count) devices; at most \(Tunables.OTLP.devicesPerRequest) "
                    + "are accepted. Send less at a time.",
                scope: .stream, limit: Tunables.OTLP.devicesPerRequest)
        }
        var rows: [DeviceID: DeviceRow] = [:]
        for (device, standing) in try await standings(of: named.map(\.device), context.caller) {
            switch standing {
            case .welcome(let row): rows[device] = row
            case .revoked: items.reject(device, .deviceRevoked)
            case .deleted: items.reject(device, .deviceDeleted)
            }
        }
        let entries = items.filled
        for entry in entries {
            guard let row = rows[entry.device.id] else { continue }
            if let full = metadata.recordRefusal(of: row, at: context.now) { throw Problem.otlpQuota(full) }
        }
        do {
            let refused = try await turns.inTurn(
                of: context.caller.tokenID, items: entries.reduce(0) { $0 + $1.items }, since: start
            ) {
                try await store(entries, rows, to: signal == .logs ? .event : .sample, context)
            }
            for device in refused { items.reject(device, .refusedByStore) }
        } catch is OTLPTurns.Refusal {
            throw Problem.storeUnavailable(
                "Other requests of this token are still being stored. Send less at a time.",
                wait: 4_000_000 + reader.budget.retrySlot())
        }
    }

    /// - Returns: the devices whose items the store never takes.
    private func store(
        _ entries: [OTLPItems.Entry], _ rows: [DeviceID: DeviceRow], to stream: StreamName, _ context: OTLPContext
    ) async throws -> [DeviceID] {
        var waiting = entries
        var refused: [DeviceID] = []
        var attempt = 0
        while true {
            let answers = await store.append(
                waiting.map { entry in
                    UnnumberedItems(
                        device: entry.device.id,
                        epoch: EpochID(numberedBy: metadata.incarnationID, for: entry.device.id), runs: entry.runs)
                }, to: stream, receivedAt: context.now)
            var again: [OTLPItems.Entry] = []
            var detail = ""
            for (entry, answer) in zip(waiting, answers) {
                switch answer.outcome {
                case .stored: record(entry, answer, rows[entry.device.id], context)
                case .unavailable:
                    again.append(entry)
                    detail = answer.detail
                case .refused:
                    logger.error(
                        "records of OTLP refused by the store",
                        metadata: ["device.id": "\(entry.device.id)", "detail": "\(answer.detail)"])
                    refused.append(entry.device.id)
                }
            }
            guard !again.isEmpty else { return refused }
            // If nothing at all was stored, the sender's repeat costs nobody anything.
            guard again.count < entries.count, attempt < Tunables.OTLP.storeAttempts else {
                throw Problem.storeUnavailable(detail, wait: 4_000_000 + reader.budget.retrySlot())
            }
            waiting = again
            attempt += 1
            try await Task.sleep(for: Tunables.OTLP.storePause)
        }
    }

    private func standings(
        of devices: [OTLPDevice], _ sender: OTLPSender
    ) async throws -> [DeviceID: OTLPStanding] {
        do throws(OTLPDeviceError) { return try await metadata.standings(of: devices, from: sender) } catch {
            switch error {
            case .tooMany(let limit, let wait, let isFirst):
                if isFirst {
                    logger.warning(
                        "a token for OTLP names more new devices than it may in a day",
                        metadata: [
                            "token.id": "\(sender.tokenID)", "organization": "\(sender.organization)",
                            "limit": "\(limit)",
                        ])
                }
                throw Problem.tooManyOTLPDevices(limit: limit, wait: wait)
            case .store(let error): throw error
            }
        }
    }

    private func record(
        _ entry: OTLPItems.Entry, _ answer: UnnumberedAnswer, _ row: DeviceRow?, _ context: OTLPContext
    ) {
        guard let row else { return }
        // Those that were known took no room.
        let all = answer.stored + answer.known
        metadata.recordStored(all > 0 ? entry.bytes * answer.stored / all : 0, of: row, at: context.now)
        metadata.seen(row.id, DeviceObservation(at: context.now))
        reader.metrics.known(answer.known)
    }
}

extension Problem {
    static func ofOTLP(_ error: OTLPError) -> Problem {
        switch error.code {
        case .malformed: malformed(error.message)
        case .tooLarge:
            Problem(
                status: 413, code: .bodyTooLarge, title: "Request too large", detail: error.message, scope: .stream)
        }
    }

    static func otlpQuota(_ full: RecordQuotaRefusal) -> Problem {
        var problem = recordQuota(full)
        let whose = full.isOfDevice ? "A device of this request" : "The organization of this token"
        problem.detail =
            "\(whose) has stored \(full.bytes) bytes of records today (UTC), and \(full.quota) are allowed a day. "
            + "Send them later."
        return problem
    }
}

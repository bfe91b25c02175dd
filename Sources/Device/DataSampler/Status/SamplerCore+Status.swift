import RecordQueue
import TelemetryBasics
import Transmitter
import WireModel

extension SamplerCore {
    /// The content of the directory, and what is sent and sampled where something runs.
    ///
    /// - Parameter run: `nil` where nothing runs.
    func status(_ run: RunReport?) async throws(DataSamplerError) -> DataSamplerStatus {
        let settings = settings
        let queue: QueueStatus
        do { queue = try await self.queue.status(holds: [.event: settings.eventHold]) } catch {
            throw DataSamplerError(error)
        }
        let transmitter = run?.transmitter
        let findings = profileFindings(settings).map(\.text)
        let holds = StreamHolds(awaits: awaitedDecisions)
        let fences = geofences.report
        let profile =
            run?.profile
            ?? ProfileKeeper.Report(revision: settings.profileRevision, fetched: storedProfile?.stored.fetched)
        var status = DataSamplerStatus(
            running: run != nil, version: DataSampler.version, directory: configuration.directory,
            epoch: "\(queue.epoch)",
            enrollment: enrollment(transmitter), collector: collector(transmitter),
            profile: .init(
                revision: profile.revision, fetched: profile.fetched, failure: profile.failure,
                refusal: profile.refusal, findings: findings.isEmpty ? nil : findings),
            settings: settings.described, verdicts: run == nil ? nil : verdicts.status,
            geofences: fences.isEmpty ? nil : fences,
            telemetryDisabled: settings.telemetryDisabled,
            consent: consent.consent.rawValue,
            doNotDisturb: run?.isDoNotDisturb ?? false, doNotDisturbDecision: run?.doNotDisturbStatus,
            suspended: run?.isSuspended ?? false,
            slowdown: run?.slowdown ?? 1,
            slowdownReason: run?.slowdownReason,
            wipePending: run?.wipe.map {
                "noted, epoch \($0.epoch)\($0.leaveBy == nil ? "" : ", ends the enrollment"): \($0.reason)"
            },
            leaving: gate.isLeaving, commands: run?.commands.entries.map(Self.command) ?? [],
            commandFailure: run?.commands.failure,
            modules: run?.modules ?? [], unavailableModules: settings.unavailable,
            streams: queue.streams.sorted { $0.key < $1.key }.map { Self.stream($0, $1, holds.reason($0)) },
            holding: [],
            divergence: queue.divergence.map {
                DataSamplerStatus.Divergence(reason: $0.reason.rawValue, stream: "\($0.stream)", time: $0.wallTime)
            },
            beaconInterval: run?.beaconInterval, eventHold: settings.eventHold / .seconds(1),
            queueBytes: queue.fileBytes,
            freeBytes: queue.freeBytes, offlineTimeExceeded: run?.offlineTimeExceeded,
            quarantined: queue.quarantinedRecords, queueFailure: queue.failure,
            salvages: queue.ended.compactMap { ended in ended.salvage.map { Self.salvage($0, at: ended.endedWallTime) }
            },
            logind: run?.logind, location: run?.location, encryption: encryption, intakes: run?.intakes)
        status.holding =
            holding(status) + (transmitter.map(Self.blocked) ?? [])
            + Self.waiting(run?.openUploads ?? [])
        return status
    }

    private static func salvage(_ salvage: QueueStatus.Salvage, at time: Int64) -> DataSamplerStatus.Salvage {
        .init(time: time, cause: salvage.cause, file: salvage.file, salvaged: salvage.salvaged, lost: salvage.lost)
    }

    /// Posts a notice where the queue's file was replaced since the last call.
    func reportReplacedQueue(_ status: QueueStatus) {
        guard claimReplacements(status.replacements),
            let salvage = status.ended.last(where: { $0.salvage != nil })?.salvage
        else { return }
        notices.post(
            .queueSalvaged,
            """
            the queue's file was damaged or missing (\(salvage.cause)): \(CountText.of(salvage.salvaged, "record")) \
            readable and continued in a new epoch, \(salvage.lost) missing and counted as lost unless they had arrived
            """,
            ["salvaged": "\(salvage.salvaged)", "lost": "\(salvage.lost)", "file": salvage.file])
    }

    private static func command(_ entry: CommandLedgerStateMachine.Entry) -> DataSamplerStatus.Command {
        .init(
            id: entry.id.hexadecimal, action: CommandRunner.name(entry), state: entry.state.rawValue,
            detail: entry.detail, isReported: !entry.isUnreported)
    }

    private func enrollment(_ transmitter: TransmitterStatus?) -> DataSamplerStatus.Enrollment {
        do {
            if let enrollment = try identity.load() {
                return .init(
                    enrolled: true, reason: nil, device: "\(enrollment.deviceID)",
                    organization: enrollment.organization, collector: "\(enrollment.collectorID)",
                    certificateEnds: transmitter?.certificateEnds, certificateProblem: transmitter?.certificateProblem)
            }
            if gate.isUnenrolled { return .init(enrolled: false, reason: DataSamplerStatus.unenrolled) }
            guard let transmitter else { return .init(enrolled: false, reason: "no agent has enrolled here yet") }
            let waiting =
                identity.configuredToken == nil
                ? "no enrollment token was given. \(Transmitter.tokenRemedy)" : "the collector has not been asked yet"
            return .init(enrolled: false, reason: transmitter.reason ?? waiting)
        } catch {
            return .init(enrolled: false, reason: (error as? DataSamplerError)?.message ?? "\(error)")
        }
    }

    private func collector(_ transmitter: TransmitterStatus?) -> DataSamplerStatus.Collector {
        let url = configuration.collectorURL.isEmpty ? nil : configuration.collectorURL
        guard let transmitter else { return .init(url: url, state: "stopped", requests: 0, sentBytes: 0, gates: [:]) }
        return .init(
            url: url, reachable: transmitter.unreachableSince == nil ? transmitter.reached : false,
            state: transmitter.state.rawValue, reason: transmitter.reason, lastSuccess: transmitter.lastSuccess,
            lastFailure: transmitter.lastFailure, lastFailureReason: transmitter.lastFailureReason,
            obstacle: transmitter.obstacle?.rawValue,
            unreachableSince: transmitter.unreachableSince, nextAttempt: transmitter.nextAttempt,
            requests: transmitter.requests, sentBytes: transmitter.sentBytes, gates: transmitter.gates,
            clockOffset: transmitter.clockOffset)
    }

    private static func stream(
        _ name: StreamName, _ stream: QueueStatus.Stream, _ hold: TransmissionGate.Reason?
    ) -> DataSamplerStatus.Stream {
        DataSamplerStatus.Stream(
            name: "\(name)", waiting: stream.waiting, waitingBytes: stream.waitingBytes,
            due: hold == .consent || hold == .firstProfile ? 0 : stream.due,
            oldestAgeSeconds: stream.oldestAgeSeconds, lastNumber: stream.lastNumber, acknowledged: stream.mark.number,
            consentPending: hold == .consent ? stream.waiting : 0, apart: stream.apart,
            dropped: Dictionary(
                uniqueKeysWithValues: stream.dropped.filter { $0.value > 0 }.map { ("\($0.key)", $0.value) }))
    }

    private static func blocked(_ transmitter: TransmitterStatus) -> [String] {
        transmitter.blocked.sorted { $0.key < $1.key }.map { stream, blocked in
            """
            stream \(stream) waits: its first record was sent alone and refused \(blocked.refusals) times, the last \
            time because \(blocked.why). It is retried, and quarantined if it is refused for ten minutes while other \
            streams pass
            """
        }
    }

    /// The conditions that uploads of logs wait for. Uploads of one application usually wait for the same.
    static func waiting(_ uploads: [LogUpload]) -> [String] {
        var counts: [String: Int] = [:]
        var words: [String] = []
        for upload in uploads where !upload.detail.isEmpty {
            let what = upload.isCrash ? "crash logs" : "logs"
            let owner = (try? WireUploadManifest.decode(upload.manifest))?.application ?? ""
            let why = "\(what)\(owner.isEmpty ? "" : " of \(owner)") wait: \(upload.detail)"
            if counts[why] == nil { words.append(why) }
            counts[why, default: 0] += 1
        }
        return words.map { why in counts[why].map { $0 > 1 ? "\(why) (\($0) uploads)" : why } ?? why }
    }

    private func holding(_ status: DataSamplerStatus) -> [String] {
        let gate = gate
        var reasons: [String] = []
        if let wipe = status.wipePending { reasons.append("a wipe is being carried out (\(wipe))") }
        if isLocked { reasons.append("the keys are not at hand: \(status.encryption?.reason ?? "unknown")") }
        // Nothing else holds records back then: none are made.
        if gate.isUnenrolled { return [DataSamplerStatus.unenrolled] + reasons }
        if gate.isLeaving { reasons.append("this device is being unenrolled") }
        if status.telemetryDisabled {
            reasons.append(
                "telemetry is switched off by the \(settings.sources["telemetryDisabled"]?.rawValue ?? "profile")")
        }
        if status.profile.revision == 0 {
            reasons.append(
                "there is no profile yet, so events wait for it\(status.profile.failure.map { ": \($0)" } ?? "")")
        }
        if status.consent != "granted" { reasons.append("consent is \(status.consent)") }
        if status.doNotDisturb { reasons.append("do-not-disturb is on: samples, events and logs pause") }
        if status.suspended { reasons.append("the application has suspended it") }
        reasons += status.collector.gates.sorted { $0.key < $1.key }.map {
            "\($0.key) may not be sent now: \($0.value)"
        }
        if let divergence = status.divergence {
            reasons.append(
                """
                the histories of device and collector have diverged (\(divergence.reason)) in stream \
                \(divergence.stream)
                """
            )
        }
        if !status.enrollment.enrolled { reasons.append("not enrolled: \(status.enrollment.reason ?? "unknown")") }
        if status.collector.state == TransmitterStatus.State.holding.rawValue, let reason = status.collector.reason,
            reason != status.enrollment.reason
        {
            reasons.append(reason)
        }
        if let event = status.streams.first(where: { $0.name == "event" }), event.waiting > event.due,
            event.consentPending == 0, status.profile.revision > 0
        {
            reasons.append(
                """
                \(CountText.of(event.waiting - event.due, "event")) held for \(Int(status.eventHold)) s after the \
                recording
                """
            )
        }
        return reasons
    }
}

extension SamplerCore {
    func balance() async throws(DataSamplerError) -> DataSamplerBalance {
        let balances: [StreamName: StreamBalance]
        let device: DeviceID?
        do {
            balances = try await queue.balance()
            device = try await queue.binding?.device
        } catch {
            throw DataSamplerError(error)
        }
        var streams: [String: DataSamplerBalance.Stream] = [:]
        for (name, balance) in balances {
            streams["\(name)"] = DataSamplerBalance.Stream(
                produced: balance.produced, stored: balance.stored, rejected: balance.rejected,
                dropped: balance.dropped,
                lostAtCollector: balance.lostAtCollector, waiting: balance.waiting, closes: balance.closes)
        }
        return DataSamplerBalance(
            epoch: "\(queue.epoch)", device: device.map { "\($0)" }, streams: streams,
            closes: balances.values.allSatisfy(\.closes))
    }
}

extension DataSamplerStatus {
    fileprivate static let unenrolled = "this device was unenrolled; another enrollment token enrolls it again"
}

import RecordQueue
import Transmitter
import WireModel

extension SamplerCore {
    /// What the directory holds, and what is sent and sampled where something runs.
    ///
    /// - Parameters:
    ///   - transmitter: `nil` where nothing runs.
    func status(
        transmitter: TransmitterStatus?, modules: [DataSamplerStatus.Module] = [], beaconInterval: Double? = nil
    ) async throws(DataSamplerError) -> DataSamplerStatus {
        let queue: QueueStatus
        // The hold is a running agent's: a command that looks at its directory does not know it.
        let holds: [StreamName: Duration] = transmitter == nil ? [:] : [.event: settings.eventHold]
        do { queue = try await self.queue.status(holds: holds) } catch {
            throw DataSamplerError(error)
        }
        var status = DataSamplerStatus(
            running: transmitter != nil, version: DataSampler.version, directory: configuration.directory, epoch: "\(queue.epoch)",
            enrollment: enrollment(transmitter), collector: collector(transmitter), modules: modules,
            streams: queue.streams.sorted { $0.key < $1.key }.map(Self.stream), holding: [],
            parting: queue.parting.map {
                DataSamplerStatus.Parting(reason: $0.reason.rawValue, stream: "\($0.stream)", time: $0.wallTime)
            },
            beaconInterval: beaconInterval, eventHold: settings.eventHold / .seconds(1), queueBytes: queue.fileBytes,
            freeBytes: queue.freeBytes,
            quarantined: queue.quarantinedRecords, queueFailure: queue.failure)
        status.holding = Self.holding(status)
        return status
    }

    private func enrollment(_ transmitter: TransmitterStatus?) -> DataSamplerStatus.Enrollment {
        do {
            if let enrollment = try identity.load() {
                return .init(
                    enrolled: true, reason: nil, device: "\(enrollment.deviceID)", organization: enrollment.organization,
                    collector: "\(enrollment.collectorID)")
            }
            guard let transmitter else { return .init(enrolled: false, reason: "no agent has enrolled here yet") }
            let waiting = identity.configuredToken == nil ? "no enrollment token was given" : "the collector was not asked yet"
            return .init(enrolled: false, reason: transmitter.reason ?? waiting)
        } catch {
            return .init(enrolled: false, reason: (error as? DataSamplerError)?.message ?? "\(error)")
        }
    }

    private func collector(_ transmitter: TransmitterStatus?) -> DataSamplerStatus.Collector {
        let url = configuration.collectorURL.isEmpty ? nil : configuration.collectorURL
        guard let transmitter else { return .init(url: url, state: "stopped", requests: 0, sentBytes: 0) }
        let reachable: Bool? =
            switch (transmitter.lastSuccess, transmitter.lastFailure) {
            case (nil, nil): nil
            case (_?, nil): true
            case (nil, _?): false
            case (let success?, let failure?): success >= failure
            }
        return .init(
            url: url, reachable: reachable, state: transmitter.state.rawValue, reason: transmitter.reason,
            lastSuccess: transmitter.lastSuccess, lastFailure: transmitter.lastFailure, lastFailureReason: transmitter.lastFailureReason,
            nextAttempt: transmitter.nextAttempt, requests: transmitter.requests, sentBytes: transmitter.sentBytes)
    }

    private static func stream(_ name: StreamName, _ stream: QueueStatus.Stream) -> DataSamplerStatus.Stream {
        DataSamplerStatus.Stream(
            name: "\(name)", waiting: stream.waiting, waitingBytes: stream.waitingBytes, due: stream.due,
            oldestAgeSeconds: stream.oldestAgeSeconds, lastNumber: stream.lastNumber, acknowledged: stream.mark.number,
            dropped: Dictionary(uniqueKeysWithValues: stream.dropped.filter { $0.value > 0 }.map { ("\($0.key)", $0.value) }))
    }

    private static func holding(_ status: DataSamplerStatus) -> [String] {
        var reasons: [String] = []
        if let parting = status.parting {
            reasons.append("the histories of device and collector have parted (\(parting.reason)) in stream \(parting.stream)")
        }
        if !status.enrollment.enrolled { reasons.append("not enrolled: \(status.enrollment.reason ?? "unknown")") }
        if status.collector.state == TransmitterStatus.State.holding.rawValue, let reason = status.collector.reason,
            reason != status.enrollment.reason
        {
            reasons.append(reason)
        }
        if let event = status.streams.first(where: { $0.name == "event" }), event.waiting > event.due {
            reasons.append("\(event.waiting - event.due) events are held for \(Int(status.eventHold)) s after they were recorded")
        }
        return reasons
    }
}

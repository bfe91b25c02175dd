import RecordQueue
import Transmitter
import WireModel

/// Waits until the collector has acknowledged what is on disk, and otherwise says what stands in the way.
///
/// It looks every 100 ms, because the transmitter reports no single acknowledgement.
struct DeliveryWatch: Sendable {
    private static let look = Duration.milliseconds(100)

    let core: SamplerCore
    let transmitter: Transmitter
    let sleeper: any Clock<Duration>

    /// Makes a status record, and returns its number once the collector has stored it.
    ///
    /// - Throws: what `make` throws; `notDelivered`, `queue`.
    func statusRecord(
        within limit: Duration, _ make: () async throws(DataSamplerError) -> UInt64
    ) async throws(DataSamplerError) -> UInt64 {
        let before = try await queueStatus()
        let number = try await make()
        let what = "record \(number) of the stream status"
        var mark = before.statusMark
        try await wait(limit, for: what, stream: .status) { () async throws(DataSamplerError) in
            let now = try await queueStatus()
            guard now.epoch == before.epoch else { throw Self.refused(what, "a new epoch began meanwhile") }
            let (former, latest) = (mark, now.statusMark)
            mark = latest
            guard latest.number >= number else { return false }
            // The mark passes dropped and rejected records too. It does not say which, so none counts as delivered.
            guard latest.number &- former.number == latest.stored &- former.stored else {
                throw Self.refused(what, "it, or a record sent with it, was dropped or rejected")
            }
            return true
        }
        return number
    }

    /// Waits until `isDone`.
    ///
    /// - Parameters:
    ///   - what: is waited for; named in the error.
    ///   - stream: carries it; `nil` for logs.
    /// - Throws: what `isDone` throws; `notDelivered`.
    func wait(
        _ limit: Duration, for what: String, stream: StreamName?, _ isDone: () async throws(DataSamplerError) -> Bool
    ) async throws(DataSamplerError) {
        let deadline = core.clock.now().timeSinceBoot + limit.wholeMicroseconds
        while try await !isDone() {
            guard core.clock.now().timeSinceBoot < deadline, !Task.isCancelled else {
                let (failure, why) = await obstacle(stream)
                throw DataSamplerError(
                    .notDelivered, "\(what) was not acknowledged within \(limit): \(why). It waits on disk.",
                    cause: failure)
            }
            // Cancelled, it returns at once, and the guard above ends the wait.
            try? await sleeper.sleep(for: Self.look)
        }
    }

    func queueStatus() async throws(DataSamplerError) -> QueueStatus {
        do throws(QueueError) { return try await core.queue.status() } catch { throw DataSamplerError(error) }
    }

    static func refused(_ what: String, _ why: String) -> DataSamplerError {
        DataSamplerError(.notDelivered, "\(what) was not delivered: \(why)", cause: DeliveryFailure.refused)
    }

    private func obstacle(_ stream: StreamName?) async -> (DeliveryFailure, String) {
        let status = transmitter.status
        let why = status.reason ?? status.lastFailureReason ?? "the collector has not answered yet"
        if (try? core.identity.load()) == nil {
            return (status.reached == false ? .offline : .notEnrolled, "this device is not enrolled: \(why)")
        }
        if let gate = await gate(stream) { return (DeliveryFailure(gate), "\(gate)") }
        if let blocked = stream.flatMap({ status.blocked["\($0)"] }) { return (.refused, blocked.why) }
        if status.state == .holding { return (.refused, why) }
        return (status.reached == true ? .timedOut : .offline, why)
    }

    private func gate(_ stream: StreamName?) async -> TransmissionGate.Reason? {
        if let stream { return await transmitter.gate(of: stream) }
        guard case .closed(let reason) = await transmitter.logGate() else { return nil }
        return reason
    }
}

extension QueueStatus {
    fileprivate var statusMark: StreamMark { streams[.status]?.mark ?? StreamMark() }
}

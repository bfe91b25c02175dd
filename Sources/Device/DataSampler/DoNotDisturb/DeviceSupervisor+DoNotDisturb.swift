import RecordQueue
import Transmitter
import WireModel

extension DeviceSupervisor {
    /// Reports to the collector the decision on do-not-disturb that it lacks, or asks for its newest one if it lacks
    /// none. The device follows the answer when this returns. A device that is not enrolled enrolls first.
    nonisolated func exchangeDoNotDisturb() async -> CollectorAnswer {
        let unreported = await doNotDisturb.unreported
        let events = events
        return await parts.transmitter.request(
            unreported == nil ? .get : .put, WireNames.doNotDisturbPath, body: unreported.map { .message($0.encoded) }
        ) { answer in
            // Before the next exchange, so that an older answer never replaces a newer one.
            await events.report(.doNotDisturbAnswered(answer, request: unreported?.requestID))
        }
    }

    /// Reports a decision that waits. After a failure the next contact with the collector wakes the job again.
    /// - Returns: how long nothing is to be done.
    nonisolated func reportDoNotDisturb() async -> Duration {
        if await doNotDisturb.unreported != nil, core.gate.decide(.beacon) == .record,
            // Of an identity that cannot be read nothing is known here; `status` says why.
            (try? core.identity.load()) != nil
        {
            _ = await exchangeDoNotDisturb()
        }
        return .seconds(86_400)
    }
}

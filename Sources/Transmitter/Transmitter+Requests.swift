import FoundationEssentials
import Synchronization
import WireModel

/// Requests of others, and what the delegate hears.
extension Transmitter {
    /// One request under the device's credential, enrolling first where needed: profile, commands and the like. Never throws: the answer says
    /// what came of it. A refused credential is renewed once. Waits for the exchange under way; gates do not hold it back.
    ///
    /// - Parameters:
    ///   - headers: beside those every request has (credential, accepted and own media type, agent).
    ///   - body: `nil`: none.
    package func request(
        _ method: TransportRequest.Method, _ path: String, headers: [(name: String, value: String)] = [], body: RequestBody? = nil
    ) async -> CollectorAnswer {
        let answer = await inTurn { await self.enrolledExchange(method, path, headers, body) }
        await deliver()
        return answer
    }

    /// Runs in turn with the exchanges of the pass.
    func inTurn(_ body: () async -> CollectorAnswer) async -> CollectorAnswer {
        guard await turnstile.enter() else { return .unreachable("cancelled before it was asked") }
        defer { turnstile.leave() }
        return await body()
    }

    func enrolledExchange(
        _ method: TransportRequest.Method, _ path: String, _ headers: [(name: String, value: String)] = [], _ body: RequestBody? = nil
    ) async -> CollectorAnswer {
        for isLast in [false, true] {
            if enrollment == nil {
                switch await enrollIfNeeded() {
                case .retry(_, let why): return .unreachable(why)
                case .hold(let why, _): return .notEnrolled(why)
                case .goOn, .enrollAgain, .setAside: break
                }
            }
            guard let enrollment else { return .notEnrolled("the device is not enrolled") }
            let answer = await send(
                method, path, headers: headers, body: body, bearer: enrollment.credential, expected: enrollment.collectorID)
            guard case .credentialRefused(let why) = answer, !isLast else { return answer }
            let action = machine.settled([], .credentialRefused(why), maySetAside: false, now: clock.now().timeSinceBoot, roll: roll())
            guard action == .enrollAgain, await enrollAgain() == .goOn else { return answer }
        }
        return .notEnrolled("the device is not enrolled")
    }

    func note(_ message: Message) { if delegate != nil { outbox.append(message) } }

    /// Tells the delegate what there is to tell, in order, outside of any turn: it may ask for something itself.
    func deliver() async {
        guard let delegate, !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !outbox.isEmpty {
            switch outbox.removeFirst() {
            case .news(let news): await delegate.received(news)
            case .change(let change): await delegate.stateChanged(change)
            }
        }
    }
}

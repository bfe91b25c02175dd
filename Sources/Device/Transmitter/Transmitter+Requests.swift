import FoundationEssentials
import RecordQueue
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

    /// Asks for what rides on the answer to a batch, for when none may be sent: commands, and the newest revision of the profile. The delegate
    /// hears it as it hears the rest; what came of it otherwise shows in the status. Gates do not hold it back.
    package func askForNews() async {
        _ = await inTurn {
            let began = self.clock.now()
            let answer = await self.enrolledExchange(.get, WireNames.commandsPath)
            if case .success(let body, _) = answer { self.take(news: body, askedAt: began) }
            return answer
        }
        await deliver()
    }

    private func take(news body: Data, askedAt began: RecordStamp) {
        guard let enrollment, let answer = try? WireCommandsAnswer.decode(body) else { return }
        credentialWorked()
        noteTime(answer.serverTime, askedAt: began)
        // A collector that says no time: this device's is as good as any to count what is left of a command's life from.
        let serverTime = answer.serverTime > 0 ? answer.serverTime : clock.now().wallTime
        note(
            revision: answer.profileRevision, commands: answer.commands, serverTime: serverTime, under: enrollment)
    }

    /// What every answer tells beside its own matter.
    func note(revision: UInt64, commands: [WireCommand], serverTime: Int64, under enrollment: Enrollment) {
        published.withLock { $0.newestProfileRevision = revision }
        note(
            .news(
                CollectorNews(
                    newestProfileRevision: revision, commands: commands, serverTime: serverTime, enrollmentID: enrollment.enrollmentID)))
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
                case .goOn, .enrollAgain, .quarantine: break
                }
            }
            guard let enrollment else { return .notEnrolled("the device is not enrolled") }
            let answer = await send(
                method, path, headers: headers, body: body, bearer: enrollment.credential, expected: enrollment.collectorID)
            guard case .credentialRefused(let why) = answer, !isLast else { return answer }
            let action = machine.settled([], .credentialRefused(why), mayQuarantine: false, now: clock.now().timeSinceBoot, roll: roll())
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

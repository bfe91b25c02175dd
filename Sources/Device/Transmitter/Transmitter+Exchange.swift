import DeviceTunables
import FoundationEssentials
import Gzip
import Logging
import RecordQueue
import Synchronization
import TelemetryBasics
import WireModel

/// Sends one request, and evaluates what every kind of answer says.
extension Transmitter {
    func send(
        _ method: TransportRequest.Method, _ path: String, headers: [(name: String, value: String)] = [],
        body: RequestBody?, bearer: String, expected: CollectorID?
    ) async -> CollectorAnswer {
        var fields: [(name: String, value: String)] = [
            ("Authorization", "Bearer \(bearer)"), ("Accept", "\(WireNames.protobuf), \(WireNames.problem)"),
            ("User-Agent", agentVersion),
        ]
        var request = TransportRequest(method: method, path: path)
        switch body {
        case nil: break
        case .message(let message):
            do { request.body = try GzipCodec.compress(message) } catch {
                return .unreachable("compressing the request failed: \(error)")
            }
            fields += [("Content-Type", WireNames.protobuf), ("Content-Encoding", "gzip")]
        case .gzipFile(let file):
            request.body = file
            request.timeout = Tunables.Uploads.requestTimeout
            fields.append(("Content-Type", WireNames.gzip))
        }
        fields.removeAll { field in headers.contains { $0.name.lowercased() == field.name.lowercased() } }
        request.headers = fields + headers
        do {
            var response = try await counted(request)
            // A text that repeats itself compresses further than a collector accepts. It goes as it is.
            if case .message(let message) = body, response.problem?.code == Problem.Code.inflateRatio.rawValue {
                request.body = message
                request.headers.removeAll { $0.name == "Content-Encoding" }
                response = try await counted(request)
            }
            let answer = CollectorAnswer.classify(response, expected: expected)
            let isOurs = response.source.map { expected == nil || $0.collector == expected } ?? false
            published.withLock {
                $0.reached = isOurs
                if isOurs { $0.collectorVersion = response.headers[WireNames.versionHeader.lowercased()] }
            }
            proxy(isFailing: false)
            if case .unreachable(let why) = answer {
                gate.attempted(conditionsNow, reached: true, now: clock.now().timeSinceBoot)
                published.withLock { $0.obstacle = .notACollector }
                unreachable(why)
            } else if isOurs, let source = response.source {
                gate.attempted(conditionsNow, reached: true, now: clock.now().timeSinceBoot)
                reached(source)
                certificate.answered()
                if answer.isSuccess { succeeded() }
                if expected != nil, case .forbidden(let why) = answer { published.withLock { $0.refusal = why } }
            }
            return answer
        } catch {
            gate.attempted(conditionsNow, reached: false, now: clock.now().timeSinceBoot)
            if error.code == .tls { handshakeFailed() }
            if ![.cancelled, .timedOut].contains(error.code) { proxy(isFailing: error.code == .proxy) }
            // A request that this program cancelled says nothing about the way to the collector.
            if error.code != .cancelled {
                published.withLock {
                    $0.reached = false
                    $0.obstacle = error.code == .pinMismatch ? .pinMismatch : nil
                }
                unreachable(error.message)
            }
            return .unreachable(error.message)
        }
    }

    private func counted(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        published.withLock {
            $0.requests += 1
            $0.sentBytes += request.size
        }
        return try await transport.send(request)
    }

    /// A request succeeded. If sending is on hold, the reason may be gone.
    private func succeeded() {
        published.withLock {
            $0.lastSuccess = clock.now().wallTime
            $0.refusal = nil
        }
        isForbidden = false
        timer.end(.hold)
    }

    /// Reports once that the collector rejects this device.
    func forbidden(_ why: String) {
        guard !isForbidden else { return }
        isForbidden = true
        events.post(.forbidden(why))
    }

    /// Reports once since when nobody answers.
    func unreachable(_ why: String) {
        guard unreachableSince == nil else { return }
        let since = clock.now()
        unreachableSince = since
        published.withLock { $0.unreachableSince = since.wallTime }
        events.post(.unreachable(since: since, why: why))
    }

    private func reached(_ source: TransportResponse.Source) {
        if unreachableSince != nil || !wasReached {
            events.post(.reached)
            // Another request than the loop's shows it first where the loop backs off for minutes.
            timer.end(.backoff)
        }
        wasReached = true
        unreachableSince = nil
        published.withLock {
            $0.unreachableSince = nil
            $0.obstacle = nil
            $0.incarnation = "\(source.incarnation)"
        }
        guard var enrollment, enrollment.collectorID == source.collector, enrollment.incarnationID != source.incarnation
        else { return }
        let former = enrollment.incarnationID
        logger.warning(
            "the collector was restored from a backup; its balance shows the lost records",
            metadata: ["former": "\(former)", "now": "\(source.incarnation)"])
        events.post(.collectorRestored(former: former, now: source.incarnation))
        enrollment.incarnationID = source.incarnation
        if enrollment.formerCredential == nil, let spare = enrollment.spareCredential {
            enrollment.formerCredential = spare
            enrollment.formerCertificate = enrollment.spareCertificate
            enrollment.spareCredential = nil
            enrollment.spareCertificate = ""
        }
        self.enrollment = enrollment
        // It is known in memory either way. On disk it only keeps the next start from reporting it again.
        do { try enrollments.save(enrollment) } catch {
            logger.warning("the collector's new incarnation could not be stored", metadata: ["error": "\(error)"])
        }
    }

    /// Compares the collector's clock with ours, so a person can see why times look odd.
    /// An impossible time is ignored.
    /// - Parameter began: when the request was sent. The answer was made about half way between then and now.
    func recordTime(_ serverTime: Int64, askedAt began: RecordStamp) {
        guard serverTime > 0, Timestamp.range.contains(serverTime) else { return }
        let ended = clock.now()
        let took = ended.timeSinceBoot >= began.timeSinceBoot ? ended.timeSinceBoot - began.timeSinceBoot : 0
        published.withLock { $0.clockOffset = serverTime &- (ended.wallTime &- Int64(clamping: took / 2)) }
    }
}

extension TransportRequest {
    /// Bytes of the body, and of the head as far as it is made here. The request line and the transport's headers add
    /// about 60.
    fileprivate var size: UInt64 {
        let head = headers.reduce(method.rawValue.utf8.count + path.utf8.count + 12) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 4
        }
        return UInt64(head + (body?.count ?? 0))
    }
}

/// Requests of others.
extension Transmitter {
    /// Sends one request with the device's credential, and enrolls first if needed: for profiles, commands and the
    /// like. Never throws; the answer says the result. A refused credential is renewed once. Waits for the exchange
    /// under way. Gates do not hold it back.
    ///
    /// - Parameters:
    ///   - headers: added to those of every request (credential, media types, agent).
    ///   - body: `nil` for none.
    ///   - heard: hears the answer before the next exchange begins. It must not start one.
    package func request(
        _ method: TransportRequest.Method, _ path: String, headers: [(name: String, value: String)] = [],
        body: RequestBody? = nil, heard: @Sendable (CollectorAnswer) async -> Void = { _ in }
    ) async -> CollectorAnswer {
        await inTurn {
            let answer = await self.enrolledExchange(method, path, headers, body)
            await heard(answer)
            return answer
        }
    }

    /// Asks for what rides on the answer to a batch, for when none may be sent: commands, and the newest revision of
    /// the profile. Both are heard as an event. Gates do not hold it back.
    @discardableResult package func askForNews() async -> CollectorAnswer {
        await inTurn {
            let began = self.clock.now()
            let answer = await self.enrolledExchange(.get, WireNames.commandsPath)
            if case .success(let body, _) = answer { self.apply(news: body, askedAt: began) }
            return answer
        }
    }

    private func apply(news body: Data, askedAt began: RecordStamp) {
        guard let enrollment, let answer = try? WireCommandsAnswer.decode(body) else { return }
        credentialWorked()
        recordTime(answer.serverTime, askedAt: began)
        // If the collector gives no time, this device's clock is used to count down a command's lifetime.
        let serverTime = answer.serverTime > 0 ? answer.serverTime : clock.now().wallTime
        record(
            revision: answer.profileRevision, commands: answer.commands, serverTime: serverTime,
            doNotDisturb: answer.hasDoNotDisturb ? answer.doNotDisturb : nil, under: enrollment)
    }

    /// Evaluates what every answer brings beside its own subject.
    func record(
        revision: UInt64, commands: [WireCommand], serverTime: Int64, doNotDisturb: WireDoNotDisturb?,
        under enrollment: Enrollment
    ) {
        published.withLock { $0.newestProfileRevision = revision }
        events.post(
            .heard(
                CollectorNews(
                    newestProfileRevision: revision, commands: commands, serverTime: serverTime,
                    enrollmentID: enrollment.enrollmentID, doNotDisturb: doNotDisturb)))
    }

    /// Runs in turn with the exchanges of a pass.
    func inTurn(_ body: () async -> CollectorAnswer) async -> CollectorAnswer {
        guard await mutex.enter() else { return .unreachable("cancelled before it was asked") }
        defer { mutex.leave() }
        return await body()
    }

    func enrolledExchange(
        _ method: TransportRequest.Method, _ path: String, _ headers: [(name: String, value: String)] = [],
        _ body: RequestBody? = nil
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
                method, path, headers: headers, body: body, bearer: enrollment.credential,
                expected: enrollment.collectorID)
            guard case .credentialRefused(let why) = answer, !isLast else { return answer }
            let action = machine.settled(
                [], .credentialRefused(why), mayQuarantine: false, now: clock.now().timeSinceBoot, roll: roll())
            guard action == .enrollAgain, await enrollAgain() == .goOn else { return answer }
        }
        return .notEnrolled("the device is not enrolled")
    }
}

/// The body of a request.
package enum RequestBody: Sendable {
    /// A Protobuf message; it is compressed.
    case message(Data)
    /// Gzip data that is content itself; it is sent as it is.
    case gzipFile(Data)
}

/// The parts of the transmitter that log uploads need: its credential, its turn, its gates.
extension Transmitter {
    /// Whether logs may use the present network. Reads the network's state.
    package func logGate() -> TransmissionGate.Decision {
        let rules = settings.rules + (settings.logsOverWiFiOnly ? [WireTransmissionRule.logsOverWiFiOnly] : [])
        return gate.decideLogs(
            rules: rules, held: settings.logHold, conditions: lookAtConditions(),
            now: clock.now().timeSinceBoot)
    }
}

extension WireTransmissionRule {
    /// "Send logs over Wi-Fi only" (ws1): Wi-Fi or wired.
    static var logsOverWiFiOnly: Self {
        var rule = WireTransmissionRule()
        rule.data = TransmissionGate.DataClass.log.rawValue
        rule.networks = [.ethernet, .wifi]
        return rule
    }
}

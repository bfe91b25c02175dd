import FoundationEssentials
import Gzip
import Logging
import RecordQueue
import Synchronization
import WireModel

/// One request and what any answer to it tells, whoever asked.
extension Transmitter {
    /// A chunk of a log over a slow line: a megabyte at 30 kbit/s.
    private static let fileTimeout = Duration.seconds(300)

    func send(
        _ method: TransportRequest.Method, _ path: String, headers: [(name: String, value: String)] = [], body: RequestBody?,
        bearer: String, expected: CollectorID?
    ) async -> CollectorAnswer {
        var fields: [(name: String, value: String)] = [
            ("Authorization", "Bearer \(bearer)"), ("Accept", "\(WireNames.protobuf), \(WireNames.problem)"),
            ("User-Agent", agentVersion),
        ]
        var request = TransportRequest(method: method, path: path)
        switch body {
        case nil: break
        case .message(let message):
            do { request.body = try GzipCodec.compress(message) } catch { return .unreachable("compressing the request failed: \(error)") }
            fields += [("Content-Type", WireNames.protobuf), ("Content-Encoding", "gzip")]
        case .gzipFile(let file):
            request.body = file
            request.timeout = Self.fileTimeout
            fields.append(("Content-Type", WireNames.gzip))
        }
        fields.removeAll { field in headers.contains { $0.name.lowercased() == field.name.lowercased() } }
        request.headers = fields + headers
        published.withLock {
            $0.requests += 1
            $0.sentBytes += request.size
        }
        do {
            let response = try await transport.send(request)
            let answer = CollectorAnswer.classify(response, expected: expected)
            let isOurs = response.source.map { expected == nil || $0.collector == expected } ?? false
            published.withLock { $0.reached = isOurs }
            if case .unreachable(let why) = answer {
                gate.attempted(conditionsNow, reached: true, now: clock.now().timeSinceBoot)
                unreachable(why)
            } else if isOurs, let source = response.source {
                gate.attempted(conditionsNow, reached: true, now: clock.now().timeSinceBoot)
                reached(source)
                certificate.answered()
                if answer.isSuccess { succeeded() }
            }
            return answer
        } catch {
            gate.attempted(conditionsNow, reached: false, now: clock.now().timeSinceBoot)
            if error.code == .tls { handshakeFailed() }
            // A request that this program gave up says nothing about the way to the collector.
            if error.code != .cancelled {
                published.withLock { $0.reached = false }
                unreachable(error.message)
            }
            return .unreachable(error.message)
        }
    }

    /// The collector did what was asked. Where sending is on hold, whatever it waited for may be over.
    private func succeeded() {
        published.withLock { $0.lastSuccess = clock.now().wallTime }
        isForbidden = false
        timer.endHold()
    }

    /// Says once that the collector does not want this device.
    func forbidden(_ why: String) {
        guard !isForbidden else { return }
        isForbidden = true
        note(.change(.forbidden(why)))
    }

    /// Says once since when nobody answers.
    func unreachable(_ why: String) {
        guard unreachableSince == nil else { return }
        let since = clock.now()
        unreachableSince = since
        published.withLock { $0.unreachableSince = since.wallTime }
        note(.change(.unreachable(since: since, why: why)))
    }

    private func reached(_ source: CollectorAnswer.Source) {
        if unreachableSince != nil || !wasReached { note(.change(.reached)) }
        wasReached = true
        unreachableSince = nil
        published.withLock {
            $0.unreachableSince = nil
            $0.incarnation = "\(source.incarnation)"
        }
        guard var enrollment, enrollment.collectorID == source.collector, enrollment.incarnationID != source.incarnation else { return }
        let former = enrollment.incarnationID
        logger.warning(
            "the collector was restored from a backup; what it lost since then shows in its balance",
            metadata: ["former": "\(former)", "now": "\(source.incarnation)"])
        note(.change(.collectorRestored(former: former, now: source.incarnation)))
        enrollment.incarnationID = source.incarnation
        if enrollment.formerCredential == nil, let spare = enrollment.spareCredential {
            enrollment.formerCredential = spare
            enrollment.formerCertificate = enrollment.spareCertificate
            enrollment.spareCredential = nil
            enrollment.spareCertificate = ""
        }
        self.enrollment = enrollment
        // In memory it is known either way; on disk it only keeps the next start from saying it again.
        do { try enrollments.save(enrollment) } catch {
            logger.warning("the collector's new incarnation could not be noted", metadata: ["error": "\(error)"])
        }
    }

    /// Notes the collector's clock against ours, so that a person sees why times look odd.
    /// - Parameter began: when the request went out; the answer was made half way between then and now.
    func noteTime(_ serverTime: Int64, askedAt began: RecordStamp) {
        guard serverTime > 0 else { return }
        let ended = clock.now()
        let took = ended.timeSinceBoot >= began.timeSinceBoot ? ended.timeSinceBoot - began.timeSinceBoot : 0
        published.withLock { $0.clockOffset = serverTime &- (ended.wallTime &- Int64(clamping: took / 2)) }
    }
}

extension TransportRequest {
    /// Bytes of the body and of the head as far as it is made here; the line and what a transport adds are some 60 more.
    fileprivate var size: UInt64 {
        let head = headers.reduce(method.rawValue.utf8.count + path.utf8.count + 12) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 4
        }
        return UInt64(head + (body?.count ?? 0))
    }
}

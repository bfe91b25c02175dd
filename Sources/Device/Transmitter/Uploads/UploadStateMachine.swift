import DeviceTunables
import FoundationEssentials
import WireModel

/// Decides which upload continues and what an answer means for it. Pure: uploads, answers, times and rolls go in; the
/// next request comes out.
///
/// Crash logs go before other logs, and older uploads before newer ones. There is one request at a time, so records,
/// which go between any two, never wait for more than one chunk.
///
/// If the collector cannot serve uploads now, one backoff holds all of them back. What concerns one upload makes only
/// that one wait: a quota of its application, a chunk that cannot be read here, a collector that has forgotten it. A
/// refused upload waits by its own backoff, too. It fails after ten minutes of refusals during which the device's
/// records pass, because an answer alone does not prove who gave it (`RefusalEvidence`). Times are microseconds of the
/// queue clock.
package struct UploadStateMachine: Sendable {
    enum Request: Equatable, Sendable {
        case announce
        case chunk(UInt32)
        case complete
    }

    struct Step: Equatable, Sendable {
        var upload: Data
        var request: Request
    }

    private(set) var uploads: [LogUpload]
    private let policy = RetryPolicy()
    /// The waits of an upload that the collector has no room for.
    private static let roomPolicy = RetryPolicy(
        cap: Tunables.Uploads.longestRoomWindow, greatestRetryAfter: Tunables.Uploads.longestRoomRetryAfter)
    private var recordsAcknowledged: UInt64 = 0
    private var failures = 0
    /// Uploads of which a request was refused.
    private var refusals: [Data: Refusals] = [:]
    /// Uploads that wait while the others continue.
    private var waits: [Data: Wait] = [:]
    /// How often chunks were missing at an upload's end.
    private var incompletes: [Data: Int] = [:]
    /// The earliest time of the next request.
    private(set) var notBefore: Int64 = 0

    private struct Wait {
        var failures = 0
        /// The upload is not tried earlier.
        var notBefore: Int64 = 0
    }

    private struct Refusals {
        var evidence = RefusalEvidence()
        /// The device's acknowledged records at the last refusal.
        var acknowledged: UInt64 = 0
        /// The upload is not tried earlier.
        var notBefore: Int64 = 0
    }

    /// - Parameter uploads: those of an earlier run. Each is announced again, because only the collector knows what it
    ///   has.
    init(_ uploads: [LogUpload] = []) {
        self.uploads = uploads.map { upload in
            var upload = upload
            if !upload.phase.isFinal { upload.phase = .announcing }
            return upload
        }
    }

    subscript(id: Data) -> LogUpload? { uploads.first { $0.id == id } }

    /// Adds an upload. One that exists already stays as it is.
    /// - Returns: `false` if too many are open.
    mutating func add(_ upload: LogUpload) -> Bool {
        if self[upload.id] != nil { return true }
        guard uploads.count(where: { !$0.phase.isFinal }) < Tunables.Uploads.maximumOpen else { return false }
        uploads.append(upload)
        return true
    }

    /// Cancels an upload. What has arrived stays at the collector until it expires there.
    mutating func cancel(_ id: Data) { end(id, .cancelled, "cancelled") }

    /// The next request; `nil` if there is none, or none before `notBefore`.
    func next(now: Int64) -> Step? {
        guard now >= notBefore, let upload = foremost(now) else { return nil }
        switch upload.phase {
        case .sending:
            guard let number = upload.missing.first else { return Step(upload: upload.id, request: .complete) }
            return Step(upload: upload.id, request: .chunk(number))
        case .completing: return Step(upload: upload.id, request: .complete)
        case .announcing, .done, .failed, .cancelled: return Step(upload: upload.id, request: .announce)
        }
    }

    private func foremost(_ now: Int64) -> LogUpload? {
        let open = uploads.filter { !$0.phase.isFinal && earliest($0.id) <= now }
        return open.first(where: \.isCrash) ?? open.first
    }

    /// When the upload may be tried again, as far as it alone is concerned.
    private func earliest(_ id: Data) -> Int64 {
        max(refusals[id]?.notBefore ?? 0, waits[id]?.notBefore ?? 0)
    }

    var isIdle: Bool { uploads.allSatisfy(\.phase.isFinal) }

    /// When the next request is due; `nil` for never.
    var dueAt: Int64? {
        uploads.filter { !$0.phase.isFinal }.map { max(notBefore, earliest($0.id)) }.min()
    }

    /// Ends uploads that are too old.
    /// - Returns: whether there were any.
    mutating func expire(now: Int64) -> Bool {
        let old = uploads.filter { !$0.phase.isFinal && now - $0.accepted >= Tunables.Uploads.greatestAgeMicroseconds }
        for upload in old { end(upload.id, .failed, "not complete after seven days: \(upload.detail)") }
        return !old.isEmpty
    }

    /// Describes to people what all open uploads wait for.
    mutating func waits(for why: String) {
        for index in uploads.indices where !uploads[index].phase.isFinal { uploads[index].detail = why }
    }

    // MARK: What came of it

    /// The device no longer has the lines of a chunk.
    mutating func chunkWasGone(_ number: UInt32, of id: Data, reason: DropReason) {
        change(id) { upload in
            upload.missing.removeAll { $0 == number }
            if !upload.gone.contains(where: { $0.number == number }) {
                upload.gone.append(LogUpload.Gone(number: number, reason: reason.rawValue))
            }
        }
    }

    /// A chunk could not be made now.
    mutating func couldNotRead(_ id: Data, _ why: String, now: Int64, roll: Double) {
        putOffAlone(id, why, TransmitterStateMachine.localPolicy, after: nil, now: now, roll: roll)
    }

    /// - Parameters:
    ///   - answer: the answer to the step's request.
    ///   - acknowledged: the number of this device's records that the collector has acknowledged so far. It grows only
    ///     if the collector is reached.
    mutating func answered(
        _ step: Step, _ answer: CollectorAnswer, acknowledged: UInt64 = 0, now: Int64, roll: Double
    ) {
        recordsAcknowledged = acknowledged
        switch answer {
        case .success(let body, _):
            guard let status = try? WireUploadStatus.decode(body),
                status.uploadID.isEmpty || status.uploadID == step.upload
            else {
                return putOff(
                    step.upload, "the collector's answer cannot be read", after: nil, now: now, roll: roll)
            }
            succeeded(step, status, now: now, roll: roll)
        case .empty:
            guard case .chunk = step.request else { return refused(step, "an empty answer", now: now, roll: roll) }
            succeeded(step, nil, now: now, roll: roll)
        case .refused(let why), .conflict(let why, _): refused(step, why, now: now, roll: roll)
        case .notFound(let why):
            // The upload expired at the collector or was never stored there. It is announced again.
            change(step.upload) { upload in
                upload.detail = why
                upload.phase = .announcing
            }
            // A collector that does not know the address serves no upload.
            guard step.request != .announce else { return backOff(after: policy.cap, now: now, roll: roll) }
            putOffAlone(step.upload, why, policy, after: nil, now: now, roll: roll)
        case .full(let after, let why):
            putOffAlone(
                step.upload, why, Self.roomPolicy, after: after ?? Tunables.Uploads.roomPause, now: now, roll: roll)
        case .retry(let after, let why), .failing(let after, let why):
            putOff(step.upload, why, after: after, now: now, roll: roll)
        case .unreachable(let why): putOff(step.upload, why, after: nil, now: now, roll: roll)
        case .tooLarge(let why), .credentialRefused(let why), .forbidden(let why), .incompatible(let why),
            .notEnrolled(let why):
            putOff(step.upload, why, after: policy.cap, now: now, roll: roll)
        case .otherCollector(let other):
            putOff(step.upload, "another collector answers: \(other)", after: policy.cap, now: now, roll: roll)
        case .notModified:
            putOff(step.upload, "an unexpected answer: 304", after: nil, now: now, roll: roll)
        }
    }

    private mutating func succeeded(_ step: Step, _ status: WireUploadStatus?, now: Int64, roll: Double) {
        // Announcing is no progress. Otherwise a collector that forgets announcements would receive them for ever.
        if step.request != .announce {
            failures = 0
            refusals[step.upload] = nil
            waits[step.upload] = nil
        }
        guard let upload = self[step.upload] else { return }
        let gone = Set(upload.gone.map(\.number))
        let missing = status.map { status in
            status.missing.filter { !gone.contains($0) && $0 >= 1 && $0 <= upload.chunkCount }.sorted()
        }
        switch step.request {
        case .announce:
            if status?.complete == true { return end(step.upload, .done, "") }
            change(step.upload) { upload in
                upload.detail = ""
                upload.missing = missing ?? []
                upload.phase = upload.missing.isEmpty ? .completing : .sending
            }
        case .chunk(let number):
            change(step.upload) { upload in
                upload.detail = ""
                upload.missing.removeAll { $0 == number }
                if upload.missing.isEmpty { upload.phase = .completing }
            }
        case .complete:
            if status?.complete == true { return end(step.upload, .done, "") }
            guard let missing, !missing.isEmpty else {
                return refused(step, "the answer names no missing chunks", now: now, roll: roll)
            }
            // A collector that loses stored chunks does not get them again for ever.
            let count = (incompletes[step.upload] ?? 0) + 1
            incompletes[step.upload] = count
            guard count < Tunables.Uploads.maximumIncompletes else {
                return end(step.upload, .failed, "the collector repeatedly asks for chunks that it has stored")
            }
            change(step.upload) { upload in
                upload.missing = missing
                upload.phase = .sending
            }
        }
    }

    private mutating func refused(_ step: Step, _ why: String, now: Int64, roll: Double) {
        var refused = refusals[step.upload] ?? Refusals()
        if recordsAcknowledged > refused.acknowledged { refused.evidence.otherPassed() }
        refused.acknowledged = recordsAcknowledged
        refused.evidence.refused(at: UInt64(clamping: now))
        guard !refused.evidence.isProven else { return end(step.upload, .failed, why) }
        let delay = policy.delay(
            failures: refused.evidence.refusals, roll: RetryPolicy.upperHalf(roll), retryAfter: nil)
        refused.notBefore = now + Int64(clamping: delay.wholeMicroseconds)
        refusals[step.upload] = refused
        change(step.upload) { upload in
            upload.detail = why
            upload.phase = .announcing
        }
    }

    private mutating func putOff(_ id: Data, _ why: String, after: Duration?, now: Int64, roll: Double) {
        change(id) { $0.detail = why }
        backOff(after: after, now: now, roll: roll)
    }

    /// The upload waits, and the others continue.
    private mutating func putOffAlone(
        _ id: Data, _ why: String, _ policy: RetryPolicy, after: Duration?, now: Int64, roll: Double
    ) {
        guard let upload = self[id], !upload.phase.isFinal else { return }
        var wait = waits[id] ?? Wait()
        wait.failures += 1
        let delay = policy.delay(failures: wait.failures, roll: RetryPolicy.upperHalf(roll), retryAfter: after)
        wait.notBefore = now + Int64(clamping: delay.wholeMicroseconds)
        waits[id] = wait
        change(id) { $0.detail = why }
    }

    private mutating func backOff(after: Duration?, now: Int64, roll: Double) {
        failures += 1
        notBefore =
            now + Int64(clamping: policy.delay(failures: failures, roll: roll, retryAfter: after).wholeMicroseconds)
    }

    private mutating func end(_ id: Data, _ phase: LogUpload.Phase, _ detail: String) {
        guard let upload = self[id], !upload.phase.isFinal else { return }
        refusals[id] = nil
        waits[id] = nil
        incompletes[id] = nil
        change(id) { upload in
            upload.phase = phase
            upload.detail = detail
            upload.missing = []
        }
        let ended = uploads.filter(\.phase.isFinal)
        let forgotten = Set(ended.dropLast(Tunables.Uploads.maximumEnded).map(\.id))
        uploads.removeAll { forgotten.contains($0.id) }
    }

    private mutating func change(_ id: Data, _ body: (inout LogUpload) -> Void) {
        if let index = uploads.firstIndex(where: { $0.id == id }) { body(&uploads[index]) }
    }
}

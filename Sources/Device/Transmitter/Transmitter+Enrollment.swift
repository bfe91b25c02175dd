import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// The device's identity: enrolling, renewing, unenrolling. Never runs beside another exchange.
extension Transmitter {
    /// The credential and id that a collector granted, until they are stored on disk.
    struct Grant: Equatable, Sendable {
        var enrollment: Enrollment
        /// The device whose directory was copied to this machine.
        var clonedFrom: DeviceID?
    }

    /// Loads the enrollment from disk, or enrolls.
    func enrollIfNeeded() async -> TransmitterStateMachine.Action {
        if let granted { return await keep(granted) }
        let state: EnrollmentState
        do { state = try enrollments.state() } catch {
            return machine.enrollmentRefused("the identity cannot be read: \(error)")
        }
        switch state {
        case .enrolled(let stored): return await adopt(stored)
        case .none: return await enroll(as: .new, clonedFrom: nil)
        case .unenrolled(let device): return await enroll(as: .returning(device), clonedFrom: nil)
        case .clone(let former): return await enroll(as: .new, clonedFrom: former.deviceID)
        }
    }

    /// The credential was refused. Falls back to the one before the last rotation if there is one; otherwise enrolls
    /// again as the same device.
    ///
    /// The refused credential is kept until the other one is accepted. A 401 does not prove who sent it, and without a
    /// credential the device could not prove its identity. If both are refused, the newer one is the proof.
    func enrollAgain() async -> TransmitterStateMachine.Action {
        guard var current = enrollment else { return await enrollIfNeeded() }
        if let former = current.formerCredential {
            (current.credential, current.formerCredential) = (former, current.credential)
            (current.certificate, current.formerCertificate) = (current.formerCertificate, current.certificate)
            do { try enrollments.save(current) } catch {
                return machine.localFailed("the identity cannot be stored: \(error)", roll: roll())
            }
            enrollment = current
            placeCertificate()
            hasFallenBack.toggle()
            if hasFallenBack {
                machine.credentialChanged()
                return .goOn
            }
        }
        published.withLock { $0.refusal = "it does not know the credential any more" }
        if let granted { return await keep(granted) }
        return await enroll(as: .again(current), clonedFrom: nil)
    }

    private func enroll(as role: EnrollmentRole, clonedFrom: DeviceID?) async -> TransmitterStateMachine.Action {
        guard !settings.isLeaving else {
            return machine.enrollmentRefused("this device is being unenrolled, so it does not enroll again")
        }
        let token: String
        var request: WireEnrollRequest
        do {
            guard let given = try enrollments.enrollmentToken() else {
                return machine.enrollmentRefused(Self.tokenMissing(role, clonedFrom))
            }
            token = given
            request = try enrollments.enrollRequest(as: role)
        } catch {
            return machine.enrollmentFailed(after: nil, "the enrollment cannot be prepared: \(error)", roll: roll())
        }
        // Without it the device is still enrolled. The collector decides whether that is enough.
        if let signing = signingRequest() { request.certificateSigningRequest = signing }
        let expected: CollectorID? = if case .again(let former) = role { former.collectorID } else { nil }
        let began = clock.now()
        let answer = await send(
            .post, WireNames.enrollPath, body: .message(request.encoded), bearer: token, expected: expected)
        recordEnrollmentCall(answer, since: began)
        switch answer {
        case .success(let body, _):
            do {
                let answer = try WireEnrollAnswer.decode(body)
                recordTime(answer.serverTime, askedAt: began)
                var grant = Grant(enrollment: try Enrollment(answer), clonedFrom: clonedFrom)
                grant.enrollment.credentialSince = collectorTime
                grant.enrollment.wipeKey = try enrollments.wipeKey()
                if !request.certificateSigningRequest.isEmpty {
                    grant.enrollment.certificate = granted(certificate: answer.certificate)
                }
                granted = grant
                return await keep(grant)
            } catch {
                return machine.enrollmentFailed(after: nil, "enrolling: \(error)", roll: roll())
            }
        case .conflict(let why, let code):
            // A 401 or 409 does not prove who sent it, and an abandoned identity cannot be recovered. So only the
            // collector's own code makes this a new device.
            guard code == Problem.Code.deviceConflict.rawValue else {
                return machine.enrollmentFailed(after: nil, "enrolling: \(why)", roll: roll())
            }
            // The former id belongs to somebody who can prove it. A device that cannot prove it is a new device. This
            // includes a disk that was rolled back to a credential from before a rotation. The queue's records belong
            // to the former device and wait until `rebind` decides about them.
            switch role {
            case .returning(let former): return await enroll(as: .successor(of: former), clonedFrom: clonedFrom)
            case .again(let former): return await enroll(as: .successor(of: former.deviceID), clonedFrom: clonedFrom)
            case .new, .successor: return machine.enrollmentRefused("enrolling was refused: \(why)")
            }
        case .forbidden(let why):
            forbidden(why)
            return machine.enrollmentRefused("enrolling was refused: \(why)")
        case .credentialRefused(let why), .refused(let why), .incompatible(let why):
            return machine.enrollmentRefused("enrolling was refused: \(why)")
        case .otherCollector(let other):
            return machine.enrollmentRefused("another collector, \(other), answers at this address")
        case .retry(let after, let why), .failing(let after, let why), .full(let after, let why):
            return machine.enrollmentFailed(after: after, "enrolling: \(why)", roll: roll())
        case .tooLarge(let why), .unreachable(let why), .notFound(let why), .notEnrolled(let why):
            return machine.enrollmentFailed(after: nil, "enrolling: \(why)", roll: roll())
        case .empty, .notModified:
            return machine.enrollmentFailed(after: nil, "enrolling: the answer has no body", roll: roll())
        }
    }

    /// If nobody answered, `unreachable` reports it.
    private func recordEnrollmentCall(_ answer: CollectorAnswer, since began: RecordStamp) {
        if case .unreachable = answer { return }
        let succeeded = if case .success = answer { true } else { false }
        let now = clock.now().timeSinceBoot
        let taken = now > began.timeSinceBoot ? now - began.timeSinceBoot : 0
        events.post(.enrollmentAnswered(succeeded: succeeded, duration: .microseconds(Int64(clamping: taken))))
    }

    private static func tokenMissing(_ role: EnrollmentRole, _ clonedFrom: DeviceID?) -> String {
        let why: String =
            if let clonedFrom {
                "this directory is a copy of device \(clonedFrom)'s from another machine, "
                    + "and there is no enrollment token to enroll it as a new one"
            } else {
                switch role {
                case .new, .successor: "not enrolled, and no enrollment token given"
                case .again: "the credential is refused, and no enrollment token given"
                case .returning: "unenrolled: it needs a new enrollment token to enroll again"
                }
            }
        return "\(why). \(tokenRemedy)"
    }

    /// The remedy if an enrollment token is missing.
    package static let tokenRemedy =
        """
        Create a token with `ws1collector token create --enrollment`, then start the agent with \
        --enrollment-token-file or with enrollmentTokenFile in its configuration
        """

    /// Stores what was granted. A clone first drops the backlog that it inherited, so it is never sent as the clone's
    /// own. If a crash happens in between, the repeat finds the queue bound to the new device and drops nothing of it.
    private func keep(_ grant: Grant) async -> TransmitterStateMachine.Action {
        do throws(QueueError) {
            if let former = grant.clonedFrom, try await queue.binding != QueueBinding(grant.enrollment) {
                try await beginAsClone(of: former, as: grant.enrollment)
            }
        } catch {
            return machine.localFailed("the queue: \(error.message)", roll: roll())
        }
        do {
            try enrollments.save(grant.enrollment)
            try enrollments.requestAnswered()
        } catch {
            return machine.localFailed("the enrollment cannot be stored: \(error)", roll: roll())
        }
        granted = nil
        logger.info(
            "enrolled",
            metadata: ["device": "\(grant.enrollment.deviceID)", "organization": "\(grant.enrollment.organization)"])
        events.post(.enrolled(grant.enrollment))
        if let former = grant.clonedFrom { events.post(.cloned(former: former)) }
        return await adopt(grant.enrollment)
    }

    /// Binds the queue to the enrollment. A queue that is bound elsewhere is not sent.
    private func adopt(_ enrollment: Enrollment) async -> TransmitterStateMachine.Action {
        do {
            switch try await queue.bind(to: QueueBinding(enrollment)) {
            case .bound, .same: break
            case .other(let other):
                // Forget the enrollment in memory, because it may be from before a copy. The next look reads the disk.
                self.enrollment = nil
                return machine.enrollmentRefused(
                    """
                    the queue holds records of device \(other.device) for organization \(other.organization) at \
                    collector \(other.collector): decide with `ws1agent queue rebind --send` or `--drop` what happens \
                    to them
                    """)
            }
        } catch {
            return machine.localFailed("the queue: \(error.message)", roll: roll())
        }
        self.enrollment = enrollment
        placeCertificate()
        published.withLock {
            $0.device = "\(enrollment.deviceID)"
            $0.organization = enrollment.organization
            $0.incarnation = "\(enrollment.incarnationID)"
        }
        return .goOn
    }

    /// The collector accepted the credential, so the former one is useless, unless the collector is restored from an
    /// older backup.
    func credentialWorked() {
        guard var current = enrollment, let former = current.formerCredential else { return }
        // If the former credential is in use, the newer one was refused and is useless.
        current.spareCredential = hasFallenBack ? nil : former
        current.spareCertificate = hasFallenBack ? "" : current.formerCertificate
        current.formerCredential = nil
        current.formerCertificate = ""
        // In memory the change is made either way. On disk, the former credential waits for the next success.
        enrollment = current
        hasFallenBack = false
        do { try enrollments.save(current) } catch {
            logger.warning("the former credential could not be removed", metadata: ["error": "\(error)"])
        }
    }

    /// Requests a new credential. It is on synced disk before its first use, and until then the collector accepts the
    /// former one. So a kill at any point leaves a device that can speak.
    package func rotateCredential() async -> CollectorAnswer { await inTurn { await self.rotate(signing: nil) } }

    /// - Parameter request: a request for a client certificate, which is renewed with the credential. `nil` keeps the
    ///   present one.
    func rotate(signing request: Data?) async -> CollectorAnswer {
        var body: RequestBody?
        if let request {
            var message = WireRotateRequest()
            message.certificateSigningRequest = request
            body = .message(message.encoded)
        }
        let answer = await enrolledExchange(.post, WireNames.rotatePath, [], body)
        guard case .success(let body, _) = answer, var rotated = enrollment else { return answer }
        do {
            let granted = try WireRotateAnswer.decode(body)
            guard !granted.credential.isEmpty else { return .unreachable("the answer contains no credential") }
            let certificate = request == nil ? "" : self.granted(certificate: granted.certificate)
            // The former certificate and credential stay valid until the new ones are used.
            if !certificate.isEmpty, let why = objection(to: certificate) {
                return .unreachable("the new certificate cannot be used, the former one stays in use: \(why)")
            }
            rotated.formerCredential = rotated.credential
            rotated.credential = granted.credential
            rotated.credentialSince = collectorTime
            rotated.formerCertificate = rotated.certificate
            if !certificate.isEmpty { rotated.certificate = certificate }
            try enrollments.save(rotated)
        } catch {
            return .unreachable("the new credential cannot be stored, the former one stays in use: \(error)")
        }
        enrollment = rotated
        if rotated.certificate != rotated.formerCertificate { placeCertificate() }
        machine.credentialChanged()
        logger.info("credential rotated", metadata: ["device": "\(rotated.deviceID)"])
        events.post(.credentialRotated)
        return answer
    }

    /// Gets this device new credentials: enrolls it again as the same device, proved by the present credential. Waiting
    /// records stay. The former credential is forgotten here once the new one is on disk, and ends at the collector
    /// when the new one is first used. A kill at any point leaves one that works.
    /// - Returns: `.empty` when done. After any other answer nothing has changed.
    package func resetCredentials() async -> CollectorAnswer { await inTurn { await self.enrollAnew() } }

    private func enrollAnew() async -> CollectorAnswer {
        if enrollment == nil, case .enrolled(let stored)? = try? enrollments.state() { enrollment = stored }
        guard let current = enrollment else { return .notEnrolled("the device is not enrolled") }
        switch await enroll(as: .again(current), clonedFrom: nil) {
        case .retry(_, let why): return .unreachable(why)
        case .hold(let why, _): return .refused(why)
        case .goOn, .enrollAgain, .quarantine:
            hasFallenBack = false
            machine.credentialChanged()
            return .empty
        }
    }

    /// Unenrolls: informs the collector, then forgets the credential. The device id stays in the identity file, and a
    /// restart does not enroll again with the present token. The caller decides about the queue.
    /// - Parameter isForced: forgets the credential also if the collector cannot be informed.
    /// - Returns: `.empty` when done, also if the collector no longer knew this device. After any other answer nothing
    ///   has changed.
    package func unenroll(isForced: Bool = false) async -> CollectorAnswer {
        await inTurn { await self.leave(isForced: isForced) }
    }

    private func leave(isForced: Bool) async -> CollectorAnswer {
        if enrollment == nil, case .enrolled(let stored)? = try? enrollments.state() { enrollment = stored }
        guard let leaving = enrollment else { return .notEnrolled("the device is not enrolled") }
        let answer = await send(
            .post, WireNames.unenrollPath, body: nil, bearer: leaving.credential, expected: leaving.collectorID)
        switch answer {
        case .success, .empty, .credentialRefused, .forbidden: break
        default: guard isForced else { return answer }
        }
        do { try enrollments.unenroll() } catch {
            return .unreachable("the end of the enrollment cannot be stored: \(error)")
        }
        enrollment = nil
        granted = nil
        placeCertificate()
        published.withLock {
            $0.device = nil
            $0.organization = nil
        }
        logger.info("unenrolled", metadata: ["device": "\(leaving.deviceID)"])
        events.post(.unenrolled(leaving.deviceID))
        return .empty
    }
}

extension Enrollment {
    fileprivate init(_ answer: WireEnrollAnswer) throws(WireError) {
        guard !answer.credential.isEmpty else { throw WireError(.malformed, "enroll.credential is empty") }
        self.init(
            deviceID: try Identifier.required(answer.deviceID, "enroll.device_id"), credential: answer.credential,
            organization: answer.organization,
            collectorID: try Identifier.required(answer.collectorID, "enroll.collector_id"),
            incarnationID: try Identifier.required(answer.incarnationID, "enroll.incarnation_id"),
            enrollmentID: answer.enrollmentID.count == 16 ? answer.enrollmentID : Data())
    }
}

extension QueueBinding {
    init(_ enrollment: Enrollment) {
        self.init(collector: enrollment.collectorID, organization: enrollment.organization, device: enrollment.deviceID)
    }
}

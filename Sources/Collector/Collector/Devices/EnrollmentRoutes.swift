import Foundation
import Hummingbird
import Logging
import Registry
import WireModel

/// Issues, renews and ends the credentials of devices.
struct EnrollmentRoutes: RouteGroup {
    let shared: RouteContext
    /// The largest enrollment request. It may contain a certificate signing request.
    static let bodyBytes = 64 * 1024
    static let machineHashBytes = 256

    let certificates: DeviceCertificates

    func add(to router: CollectorRouter) {
        router.enrollment
            .post(RouterPath(WireNames.enrollPath), use: enroll)
        router.devices
            .post(RouterPath(WireNames.rotatePath), use: rotate)
            .post(RouterPath(WireNames.unenrollPath), use: unenroll)
    }

    private func enroll(_ request: Request, _ context: EnrollmentContext) async throws -> Response {
        try await reader.read(request, context, limit: .small(Self.bodyBytes)) { body in
            let request = try decode(WireEnrollRequest.self, body)
            guard request.deviceID.isEmpty || request.deviceID.count == 16 else {
                throw Problem.malformed(
                    "device_id has \(request.deviceID.count) bytes; expected 16, or none for a new device.")
            }
            guard request.requestID.isEmpty || request.requestID.count == 16 else {
                throw Problem.malformed("request_id has \(request.requestID.count) bytes; expected 16, or none.")
            }
            guard request.wipeSigningKey.isEmpty || request.wipeSigningKey.count == 32 else {
                throw Problem.malformed(
                    "wipe_signing_key has \(request.wipeSigningKey.count) bytes; expected 32 (Ed25519), or none.")
            }
            guard request.machineHash.utf8.count <= Self.machineHashBytes else {
                throw Problem.malformed(
                    """
                    machine_hash has \(request.machineHash.utf8.count) bytes; expected at most \(Self.machineHashBytes).
                    """
                )
            }
            let signing = try signingRequest(request.certificateSigningRequest)
            let result = try await metadata.enroll(token: context.caller.text, request: request)
            logger.info(
                "device enrolled",
                metadata: [
                    "device.id": "\(result.deviceID)", "organization": "\(result.organization)",
                    "device.kept": "\(result.deviceKept)",
                ])
            var answer = answer(result, now: context.now)
            answer.certificate = try await certificate(
                for: signing, device: result.deviceID, organization: result.organization, reason: "enrollment",
                now: context.now)
            return answer.response()
        }
    }

    private func answer(_ result: EnrollResult, now: Int64) -> WireEnrollAnswer {
        var answer = WireEnrollAnswer()
        answer.deviceID = result.deviceID.data
        answer.credential = result.credential
        answer.organization = result.organization
        answer.collectorID = metadata.collectorID.data
        answer.incarnationID = metadata.incarnationID.data
        answer.profileRevision = result.profileRevision
        answer.serverTime = now
        answer.deviceKept = result.deviceKept
        answer.enrollmentID = result.enrollmentID
        return answer
    }

    private func rotate(_ request: Request, _ context: DeviceContext) async throws -> Response {
        // A request for a credential alone has no body.
        guard request.headers[.contentType] != nil else { return try await rotate(context, signing: nil) }
        return try await reader.read(request, context, limit: .small(Self.bodyBytes)) { body in
            let request = try decode(WireRotateRequest.self, body)
            return try await rotate(context, signing: try signingRequest(request.certificateSigningRequest))
        }
    }

    private func rotate(_ context: DeviceContext, signing: SigningRequest?) async throws -> Response {
        let device = context.device
        var answer = WireRotateAnswer()
        answer.credential = try await metadata.rotateCredential(device: device.id)
        answer.certificate = try await certificate(
            for: signing, device: device.id, organization: device.organization, reason: "renewal", now: context.now)
        return answer.response()
    }

    /// - Parameter der: empty if no certificate is requested.
    /// - Returns: `nil` if none is requested, or none is issued here.
    private func signingRequest(_ der: Data) throws -> SigningRequest? {
        guard certificates.authority != nil, !der.isEmpty else { return nil }
        return try SigningRequest(der: der)
    }

    /// - Returns: the chain for the device; empty if none is requested or available.
    private func certificate(
        for request: SigningRequest?, device: DeviceID, organization: String, reason: String, now: Int64
    ) async throws -> Data {
        guard let request, let authority = certificates.authority else { return Data() }
        guard let issued = try authority.issue(request, to: device, of: organization, at: now) else {
            logger.error(
                "no certificate issued: the authority of devices' certificates has expired",
                metadata: ["device.id": "\(device)"])
            return Data()
        }
        try await metadata.keepCertificate(issued.record, device: device, reason: reason)
        logger.info(
            "certificate issued",
            metadata: ["device.id": "\(device)", "certificate.serial": "\(issued.record.serial.hexadecimal)"])
        return issued.chain
    }

    private func unenroll(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let device = context.device
        try await metadata.unenroll(device: device.id)
        logger.info(
            "device unenrolled", metadata: ["device.id": "\(device.id)", "organization": "\(device.organization)"])
        return Response(status: .noContent)
    }
}

extension Problem {
    static func ofEnrollment(_ error: EnrollError) -> Problem {
        switch error {
        case .tokenUnknown: enrollmentTokenUnknown
        case .tokenExpired: credentialExpired
        case .tokenUsedUp:
            Problem(
                status: 403, code: .tokenUsedUp, title: "Enrollment token used up",
                detail: "This token has no uses left. Create another with "
                    + "`ws1collector token create --enrollment --uses N`.", scope: .device)
        case .tokenRevoked:
            Problem(
                status: 403, code: .tokenRevoked, title: "Enrollment token revoked",
                detail:
                    "This enrollment token was revoked. Create another with `ws1collector token create --enrollment`.",
                scope: .device)
        case .deviceConflict:
            Problem(
                status: 409, code: .deviceConflict, title: "Device id taken",
                detail:
                    "The device id is taken, and the previous credential does not prove it. Enroll as a new device.",
                scope: .device)
        case .deviceRevoked: revoked
        case .store(let error): ofStore(error)
        }
    }
}

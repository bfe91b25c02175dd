import CollectorStore
import Foundation
import Hummingbird
import Logging
import WireModel

/// How a device gets, renews and gives up its credential.
struct EnrollmentRoutes: Sendable {
    /// Largest enrollment request; it may hold a certificate signing request.
    static let bodyBytes = 64 * 1024
    static let machineHashBytes = 256

    let registry: any DeviceRegistry
    let reader: BodyReader
    let logger: Logger

    var routes: [Route] {
        [
            Route(.post, WireNames.enrollPath, .enrollmentToken, handle: enroll),
            Route(.post, WireNames.rotatePath, .device, handle: rotate),
            Route(.post, WireNames.unenrollPath, .device, handle: unenroll),
        ]
    }

    private func enroll(_ exchange: Exchange) async throws -> Response {
        guard case .bearer(let token) = exchange.sender else { throw Exchange.RouteFault() }
        return try await reader.read(exchange, limit: .small(Self.bodyBytes)) { body in
            let request = try decode(WireEnrollRequest.self, body)
            guard request.deviceID.isEmpty || request.deviceID.count == 16 else {
                throw Problem.malformed("device_id has \(request.deviceID.count) bytes; expected 16, or none for a new device.")
            }
            guard request.requestID.isEmpty || request.requestID.count == 16 else {
                throw Problem.malformed("request_id has \(request.requestID.count) bytes; expected 16, or none.")
            }
            guard request.machineHash.utf8.count <= Self.machineHashBytes else {
                throw Problem.malformed(
                    "machine_hash has \(request.machineHash.utf8.count) bytes; expected at most \(Self.machineHashBytes).")
            }
            let result: EnrollResult
            do throws(EnrollError) { result = try await registry.enroll(token: token, request: request) } catch {
                throw Problem.ofEnrollment(error)
            }
            logger.info(
                "device enrolled",
                metadata: [
                    "device.id": "\(result.deviceID)", "organization": "\(result.organization)", "device.kept": "\(result.deviceKept)",
                ])
            return answer(result, now: exchange.now).response()
        }
    }

    private func answer(_ result: EnrollResult, now: Int64) -> WireEnrollAnswer {
        var answer = WireEnrollAnswer()
        answer.deviceID = result.deviceID.data
        answer.credential = result.credential
        answer.organization = result.organization
        answer.collectorID = registry.collectorID.data
        answer.incarnationID = registry.incarnationID.data
        answer.profileRevision = result.profileRevision
        answer.serverTime = now
        answer.deviceKept = result.deviceKept
        answer.enrollmentID = result.enrollmentID
        return answer
    }

    private func rotate(_ exchange: Exchange) async throws -> Response {
        var answer = WireRotateAnswer()
        answer.credential = try await registry.rotateCredential(device: exchange.device.id)
        return answer.response()
    }

    private func unenroll(_ exchange: Exchange) async throws -> Response {
        let device = try exchange.device
        try await registry.unenroll(device: device.id)
        logger.info("device unenrolled", metadata: ["device.id": "\(device.id)", "organization": "\(device.organization)"])
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
                status: 403, code: "token-used-up", title: "Enrollment token used up",
                detail: "As many devices as this token is for have enrolled. Make another with `ws1collector token create --enrollment`.",
                scope: .device)
        case .tokenRevoked:
            Problem(
                status: 403, code: "token-revoked", title: "Enrollment token revoked",
                detail: "This enrollment token was revoked. Make another with `ws1collector token create --enrollment`.", scope: .device)
        case .deviceConflict:
            Problem(
                status: 409, code: "device-conflict", title: "Device id taken",
                detail: "The device id is another enrollment's: the previous credential does not prove it. Enroll as a new device.",
                scope: .device)
        case .deviceRevoked: revoked
        case .store(let error): ofStore(error)
        }
    }
}

import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Registry
import TelemetryBasics
import WireModel

/// Do-not-disturb of a device: reported and set by the device itself, and by people. Viewers see it, operators set it.
///
/// A device learns of a person's decision with the next answer to a batch or to the request for commands.
struct DoNotDisturbRoutes: RouteGroup {
    let shared: RouteContext
    static let requestIDBytes = 16

    func add(to router: CollectorRouter) {
        router.devices
            .get(RouterPath(WireNames.doNotDisturbPath), use: reported)
            .put(RouterPath(WireNames.doNotDisturbPath), use: decide)
        router.people(.viewer).get("/api/v1/devices/{device}/do-not-disturb", use: get)
        router.people(.operator).put("/api/v1/devices/{device}/do-not-disturb", use: put)
    }

    // MARK: Devices

    private func reported(_ request: Request, _ context: DeviceContext) async throws -> Response {
        context.device.doNotDisturb.wire.response()
    }

    private func decide(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let device = context.device
        return try await reader.read(request, context, limit: .small(BodyReader.fewFieldsBytes)) { body in
            let decision = try decode(WireSetDoNotDisturb.self, body)
            guard decision.requestID.count == Self.requestIDBytes else {
                throw Problem.malformed(
                    "request_id has \(decision.requestID.count) bytes; expected \(Self.requestIDBytes).")
            }
            return try await metadata.setDoNotDisturb(
                decision.on, device: device.id, organization: nil, by: .device(request: decision.requestID)
            ).wire.response()
        }
    }

    // MARK: People

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let device = try await knownDevice(context)
        return try await answer(device, device.doNotDisturb)
    }

    private func put(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (device, person) = (try await knownDevice(context), context.person)
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            guard let isOn = try fields.flag("on") else {
                throw Problem.invalidField("on", "is missing; true or false.")
            }
            try fields.finish()
            let decided = try await metadata.setDoNotDisturb(
                isOn, device: device.id, organization: person.organization, by: .person(AuditActor(person)))
            if decided.revision != device.doNotDisturb.revision {
                logger.notice(
                    "do-not-disturb set",
                    metadata: ["device.id": "\(device.id)", "on": "\(isOn)", "person": "\(person.name)"])
            }
            return try await answer(device, decided)
        }
    }

    private func answer(_ device: DeviceRow, _ decided: DeviceDoNotDisturb) async throws -> Response {
        let profile = try await metadata.deviceProfile(of: device.profileScope)
        return try DoNotDisturbView(decided, isAllowed: profile.allowsDoNotDisturb, beacon: device.beacon).response()
    }
}

extension DoNotDisturbView {
    init(_ decided: DeviceDoNotDisturb, isAllowed: Bool, beacon: WireBeacon?) {
        self.init()
        on = decided.isOn
        allowed = isAllowed
        revision = decided.revision
        switch beacon?.doNotDisturb {
        case .yes: reported = true
        case .no: reported = false
        default: break
        }
        guard decided.revision > 0 else { return }
        setBy = decided.person == nil ? .device : .person
        person = decided.person
        setAt = Timestamp.text(decided.at)
    }
}

extension Problem {
    static func ofDoNotDisturb(_ error: DoNotDisturbError) -> Problem {
        switch error {
        case .unknownDevice: noDevice
        case .deviceLeft: deviceLeft
        case .deviceWithoutAgent: deviceWithoutAgent
        case .notAllowed:
            Problem(
                status: 409, code: .doNotDisturbNotAllowed, title: "Do-not-disturb not allowed",
                detail: "The device's profile does not allow do-not-disturb. Set `doNotDisturbAllowed` in the profile.",
                scope: .device)
        case .store(let error): ofStore(error)
        }
    }
}

import CollectorAPI
import Foundation
import JSON
import Registry
import WireModel

/// A request for an action on many devices: `{action, …arguments, filter | devices, confirm}`.
struct DeviceJobDocument {
    enum Devices {
        /// - Parameters:
        ///   - query: `nil` for devices of an organization that the person may not see.
        ///   - text: the filter as it was given, as JSON.
        case filter(DeviceQuery?, text: String)
        case named([DeviceID])
    }

    var action: DeviceJobAction
    var devices: Devices
    /// The `confirm` of the answer without one.
    var confirmation: String?

    /// The most devices that can be named. More are selected by a filter.
    static let maximumNamed = 10_000

    init(_ body: Data, of person: Person, now: Int64) throws {
        var fields = try FieldReader(body: body)
        guard let name = try fields.text("action"), let kind = DeviceJobAction.Kind(rawValue: name) else {
            throw Problem.invalidField(
                "action",
                "must be one of \(DeviceJobAction.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        switch kind {
        case .command: action = try Self.command(&fields, now: now)
        case .revoke: action = .revoke(closingToken: try fields.flag("closeEnrollmentToken") ?? false)
        case .reinstate: action = .reinstate
        case .doNotDisturb:
            guard let isOn = try fields.flag("on") else {
                throw Problem.invalidField("on", "is missing; true or false.")
            }
            action = .doNotDisturb(isOn)
        case .delete: action = .delete
        }
        confirmation = try fields.text("confirm")
        devices = try Self.devices(&fields, of: person)
        try fields.finish()
        guard person.role >= role else {
            throw Problem.forbidden("This action needs the role \(role); the token has the role \(person.role).")
        }
    }

    /// The role that the action on a single device requires.
    var role: PersonRole { action.role }

    private static func command(_ fields: inout FieldReader, now: Int64) throws(Problem) -> DeviceJobAction {
        let document = try CommandDocument(&fields, now: now)
        if case .cancel = document.action {
            throw .invalidField("kind", "is cancel, which names a command of one device. Cancel it there.")
        }
        return .command(document.action, expires: document.expires)
    }

    private static func devices(_ fields: inout FieldReader, of person: Person) throws -> Devices {
        let (filter, names) = (fields.value("filter"), try fields.texts("devices"))
        guard (filter == nil) != (names.isEmpty) else {
            throw Problem.invalidField("filter", "or `devices` must be given, and not both. {} selects all devices.")
        }
        if let filter {
            guard case .object(let members) = filter else { throw Problem.invalidField("filter", "is not an object.") }
            let parameters = try QueryParameters(members, field: "filter", known: DeviceQuery.filters)
            let text = String(decoding: try JSONEncoder.stable().encode(filter), as: UTF8.self)
            return .filter(try DeviceQuery(parameters, of: person), text: text)
        }
        guard names.count <= maximumNamed else {
            throw Problem.invalidField(
                "devices", "names \(names.count) devices, and may name \(maximumNamed). Use `filter` for more.")
        }
        return .named(
            try names.enumerated().map { place, name in
                guard let id = DeviceID(name) else {
                    throw Problem.invalidField("devices[\(place)]", "is not a device id (a UUID).")
                }
                return id
            })
    }
}

extension DeviceJobAction {
    /// The role that the action on a single device needs.
    var role: PersonRole {
        switch self {
        case .command(let command, _): command.role
        case .doNotDisturb: .operator
        case .revoke, .reinstate, .delete: .administrator
        }
    }
}

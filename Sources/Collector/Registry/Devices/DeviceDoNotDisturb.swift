import FoundationEssentials
import RecordStore
import WireModel

/// The newest decision on a device's do-not-disturb.
///
/// The device and people decide. Decisions count in the order in which they come to the collector, whatever their
/// clocks say: a device that decided while it was offline reports so later, and is then the newest. The decision stays
/// over restarts and enrollments of the device. It has no effect while the device's profile does not allow
/// do-not-disturb, and has its effect again once the profile does.
package struct DeviceDoNotDisturb: Equatable, Sendable {
    /// Counts the device's decisions; 0 if nobody has decided.
    package var revision: UInt64 = 0
    package var isOn = false
    /// Microseconds since 1970 by the collector's clock; 0 if nobody has decided.
    package var at: Int64 = 0
    /// The name of the person's token; `nil` if the device decided.
    package var person: String?

    package var wire: WireDoNotDisturb {
        var message = WireDoNotDisturb()
        message.revision = revision
        message.on = isOn
        message.setAt = at
        message.person = person ?? ""
        return message
    }
}

package enum DoNotDisturbError: StoreRefusal, Equatable, Sendable {
    case unknownDevice
    /// The device has unenrolled or was revoked.
    case deviceLeft
    /// The device is a resource of OTLP: no agent is there that could be quiet.
    case deviceWithoutAgent
    /// The device's profile does not allow it.
    case notAllowed
    case store(StoreError)
}

extension MetadataService {
    /// Who decides on a device's do-not-disturb.
    package enum DoNotDisturbDecider: Sendable {
        /// - Parameter request: minted by the device for this decision. The same one again decides nothing, so that a
        ///   repeat after a lost answer does not override what a person decided meanwhile.
        case device(request: Data)
        case person(AuditActor)
    }

    /// Begins or ends a device's do-not-disturb. Ending it is always allowed. The same decision of the same person
    /// again changes nothing. The audit entry of a person's decision is written with it.
    /// - Parameter organization: the device's; `nil` for any.
    /// - Returns: the newest decision.
    package func setDoNotDisturb(
        _ isOn: Bool, device id: DeviceID, organization: String?, by decider: DoNotDisturbDecider
    ) throws(DoNotDisturbError) -> DeviceDoNotDisturb {
        let now = clock.now()
        return try change { () throws(StoreError) -> Result<DeviceDoNotDisturb, DoNotDisturbError> in
            try self.decided(isOn, device: id, organization: organization, by: decider, at: now)
        }
    }

    /// Decides. Call it inside a transaction.
    func decided(
        _ isOn: Bool, device id: DeviceID, organization: String?, by decider: DoNotDisturbDecider, at now: Int64
    ) throws(StoreError) -> Result<DeviceDoNotDisturb, DoNotDisturbError> {
        guard let device = try DeviceRow.one(id, organization: organization, in: connection) else {
            return .failure(.unknownDevice)
        }
        guard device.kind == .enrolled else { return .failure(.deviceWithoutAgent) }
        guard device.revoked == nil, device.left == nil else { return .failure(.deviceLeft) }
        var (next, request) = (device.doNotDisturb, Data?.none)
        next.person = nil
        switch decider {
        case .device(let minted):
            let last = try connection.first("SELECT dnd_request FROM device WHERE id = ?", id.data) {
                $0.optionalData(0)
            }
            guard last != minted else { return .success(device.doNotDisturb) }
            request = minted
        case .person(let actor):
            next.person = actor.name
            guard next != device.doNotDisturb || next.isOn != isOn else { return .success(device.doNotDisturb) }
        }
        if isOn, try !allowsDoNotDisturb(device) { return .failure(.notAllowed) }
        next.revision += 1
        next.isOn = isOn
        next.at = now
        try connection.run(
            """
            UPDATE device SET dnd_revision = ?, dnd_on = ?, dnd_at = ?, dnd_person = ?, dnd_request = coalesce(?, \
            dnd_request)
            WHERE id = ?
            """, Int64(clamping: next.revision), next.isOn, next.at, next.person, request, id.data)
        recordChanged(.device(id))
        if case .person(let actor) = decider {
            try audit.append(
                AuditEntry(
                    .deviceDoNotDisturb, by: actor, organization: device.organization, subject: id.description,
                    detail: ["on": "\(isOn)"]), at: now)
        }
        return .success(next)
    }

    /// Whether the newest profile of the device allows do-not-disturb. To be called in a transaction.
    private func allowsDoNotDisturb(_ device: DeviceRow) throws(StoreError) -> Bool {
        let scope = ProfileScope(organization: device.organization, application: device.application)
        let profile = try DeviceProfile.composed(of: scope, in: connection)
        return profile?.allowsDoNotDisturb ?? false
    }
}

extension DeviceProfile {
    package var allowsDoNotDisturb: Bool { (try? WireProfile.decode(bytes))?.doNotDisturbAllowed ?? false }
}

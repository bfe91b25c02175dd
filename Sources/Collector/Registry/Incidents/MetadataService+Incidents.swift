import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// Incidents: what follows from the verdicts of devices.
///
/// Everything about one verdict is one transaction: the incident, its notice, the command to wipe and its audit entry.
/// Those who report at once wait for each other, so that the second finds the incident of the first. What a crash
/// undoes is read again from the stored records (`ProjectionRebuild.catchUp`), or comes with the next beacon.
extension MetadataService {
    /// How long a wipe waits for its device.
    private static let wipeMicroseconds: Int64 = 30 * CivilDate.microsecondsPerDay
    /// After a wipe was issued because of a verdict, another is issued for the device no sooner. A device whose
    /// verdicts alternate is not wiped each time, and its notice goes on.
    private static let coolDownMicroseconds = NoticeTable.alternationMicroseconds
    /// The most devices of an organization with a notice of their own, of each kind. One more notice counts the rest.
    static let ownNotices = 100
    private static let manyDevices = "devices"

    /// Applies a device's verdicts that replace the former ones. Call it inside a transaction.
    /// - Returns: the command to wipe that was issued, to be given to the device once this is committed.
    func judge(_ verdicts: DeviceVerdicts, of device: DeviceRow, at now: Int64) throws(StoreError) -> IssuedCommand? {
        // A beacon of an earlier enrollment can be written after the device enrolled again.
        guard device.revoked == nil, device.left == nil, verdicts.at >= device.enrolled else { return nil }
        let open = try connection.rows("SELECT kind, signs, wipe FROM incident WHERE device = ?", device.id.data) {
            row in VerdictIncident.Kind(rawValue: row.string(0)).map { ($0, VerdictIncident(row)) }
        }
        var issued: IssuedCommand?
        for kind in VerdictIncident.Kind.allCases {
            guard let reading = verdicts.reading(kind) else { continue }
            let former = open.first { $0.0 == kind }?.1
            guard var incident = VerdictIncident.next(former, reading) else {
                if former != nil { try end(kind, of: device.id, organization: device.organization, at: now) }
                continue
            }
            var isWipeAsked = false
            if reading.isBad, incident.wipe.isOpen {
                isWipeAsked = verdicts.isWipeAsked(by: try profile(of: device), for: kind)
            }
            if isWipeAsked, incident.wipe == .none {
                // One wipe does for two incidents that begin at once.
                if issued == nil { issued = try issueWipe(of: device, because: incident.cause(kind), at: now) }
                if let command = issued { incident.wipe = .issued(command.row.command.id) }
            }
            // Somebody must learn that a wipe that is asked for is withheld, or found no room.
            guard incident != former || (isWipeAsked && incident.wipe.isOpen) else { continue }
            try connection.run(
                """
                INSERT INTO incident (device, kind, began, signs, wipe) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (device, kind) DO UPDATE SET signs = excluded.signs, wipe = excluded.wipe
                """, device.id.data, kind.rawValue, now, incident.signs.joined(separator: "\n"), incident.wipe.stored)
            if !device.test { try report(incident, kind, of: device, isWipeAsked: isWipeAsked, at: now) }
        }
        return issued
    }

    private func profile(of device: DeviceRow) throws(StoreError) -> WireProfile {
        let scope = ProfileScope(organization: device.organization, application: device.application)
        // Not from memory: a wipe is not to follow from a profile that another collector has changed.
        let composed = try DeviceProfile.composed(of: scope, in: connection)
        return composed.flatMap { try? WireProfile.decode($0.bytes) } ?? WireProfile()
    }

    /// - Returns: `nil` if no further wipe may wait for the device, or one was issued lately. It is tried again with
    ///   its next beacon.
    private func issueWipe(
        of device: DeviceRow, because cause: String, at now: Int64
    ) throws(StoreError) -> IssuedCommand? {
        let lately = "SELECT 1 FROM command WHERE device = ? AND enrollment_id = ? AND issuer = ? AND created > ?"
        guard
            try !connection.hasRow(
                lately, device.id.data, device.enrollmentID, AuditActor.consequence.name,
                now - Self.coolDownMicroseconds),
            try hasRoom(for: .wipes, of: device.id, organization: device.organization, at: now)
        else { return nil }
        var wipe = WireWipe()
        wipe.reason = cause
        let new = NewCommand(
            device: device.id, action: .wipe(wipe), expires: now + Self.wipeMicroseconds, issuer: .consequence,
            idempotencyKey: nil, request: Data())
        return try insert(
            new, organization: device.organization, enrollmentID: device.enrollmentID, ["because": cause], at: now)
    }

    // MARK: Ends

    /// Ends a device's incidents: it was unenrolled or deleted, or it enrolled again. Call it inside a transaction.
    func endIncidents(of device: DeviceID, organization: String, at now: Int64) throws(StoreError) {
        for kind in VerdictIncident.Kind.allCases {
            let isOpen = try connection.hasRow(
                "SELECT 1 FROM incident WHERE device = ? AND kind = ?", device.data, kind.rawValue)
            if isOpen { try end(kind, of: device, organization: organization, at: now) }
        }
    }

    /// The notices of a device's incidents end, but whether it was wiped is not known any more: none is issued until
    /// its verdict is good or it enrolls again. Call it inside a transaction.
    func withholdWipes(of device: DeviceID, organization: String, at now: Int64) throws(StoreError) {
        try endIncidents(of: device, organization: organization, at: now)
        try connection.withholdWipes(of: device, at: now)
    }

    private func end(
        _ kind: VerdictIncident.Kind, of device: DeviceID, organization: String, at now: Int64
    ) throws(StoreError) {
        try connection.run("DELETE FROM incident WHERE device = ? AND kind = ?", device.data, kind.rawValue)
        try notices.end(kind.notice, organization: organization, subject: device.description, at: now)
        let others = "SELECT 1 FROM notice WHERE organization = ? AND code = ? AND subject = ? AND ended IS NULL"
        guard try connection.hasRow(others, organization, kind.notice.rawValue, Self.manyDevices) else { return }
        let remaining = try connection.first(
            """
            SELECT count(*) FROM incident JOIN device ON device.id = device
            WHERE organization = ? AND incident.kind = ? AND signs <> '' AND test = 0
            """, organization, kind.rawValue
        ) { $0.int(0) }
        guard (remaining ?? 0) <= Self.ownNotices else { return }
        try notices.end(kind.notice, organization: organization, subject: Self.manyDevices, at: now)
    }

    // MARK: Notices

    private func report(
        _ incident: VerdictIncident, _ kind: VerdictIncident.Kind, of device: DeviceRow, isWipeAsked: Bool,
        at now: Int64
    ) throws(StoreError) {
        let code = kind.notice
        let reported = Set(
            try connection.rows(
                "SELECT subject FROM notice WHERE organization = ? AND code = ? AND ended IS NULL", device.organization,
                code.rawValue
            ) { $0.string(0) })
        let subject = device.id.description
        if reported.contains(subject) || reported.subtracting([Self.manyDevices]).count < Self.ownNotices {
            try notices.raise(
                code, organization: device.organization, subject: subject,
                detail: incident.detail(kind, isWipeAsked: isWipeAsked), at: now)
        } else if !reported.contains(Self.manyDevices) {
            let filter = kind == .compromised ? "compromised=yes" : "compliance=non-compliant"
            try notices.raise(
                code, organization: device.organization, subject: Self.manyDevices,
                detail: "More than \(Self.ownNotices) devices are concerned; further ones get no notice of their own. "
                    + "`GET /api/v1/devices?\(filter)` lists them. If they changed together, check the profile.",
                at: now)
        }
    }
}

extension RegistrySession {
    /// Records that an incident of a device may be under way, and have had its wipe.
    /// - Parameter device: `nil` for all devices.
    func withholdWipes(of device: DeviceID?, at now: Int64) throws(StoreError) {
        for kind in VerdictIncident.Kind.allCases {
            try run(
                """
                INSERT INTO incident (device, kind, began, signs, wipe)
                SELECT id, ?1, ?2, '', ?4 FROM device WHERE ?3 IS NULL OR id = ?3
                ON CONFLICT (device, kind) DO UPDATE SET wipe = excluded.wipe
                """, kind.rawValue, now, device?.data, VerdictIncident.Wipe.withheld.stored)
        }
    }
}

extension AuditActor {
    /// The collector itself, where the consequence in a profile asks for it.
    static let consequence = AuditActor(name: "consequence in the profile")
}

extension VerdictIncident {
    /// - Parameter row: `kind, signs, wipe`.
    fileprivate init(_ row: RegistryRow) {
        signs = row.string(1).split(separator: "\n").map(String.init)
        guard let command = row.optionalData(2) else { return }
        wipe = command.isEmpty ? .withheld : .issued(command)
    }

    /// `device-compromised: tracer-attached`
    fileprivate func cause(_ kind: Kind) -> String {
        "\(kind.notice.rawValue): \(signs.joined(separator: ", "))".cut(toBytes: 1000)
    }

    fileprivate func detail(_ kind: Kind, isWipeAsked: Bool) -> String {
        let names = signs.joined(separator: ", ").cut(toBytes: 1000)
        let what =
            kind == .compromised
            ? "Detectors on the device found signs of compromise: \(names). "
            : "The device breaks compliance rules of its profile: \(names). "
        let evidence = "`GET /api/v1/devices/{device}` shows the evidence under `verdicts`."
        return switch wipe {
        case .none where isWipeAsked:
            what + evidence
                + """
                 The profile asks for a wipe, but none was issued yet: one was issued for a verdict of the device \
                within the last hour, or \(CommandShare.wipes.limitPerDevice) wipes wait for it already. It is \
                tried again with the device's next beacon. `DELETE /api/v1/devices/{device}/commands/{command}` \
                ends a command that waits.
                """
        case .none: what + evidence
        case .issued(let command):
            what + evidence + " A wipe was issued: command \(CommandID(command)?.description ?? "")."
        case .withheld where isWipeAsked:
            what + evidence + " The profile asks for a wipe, but none is issued by itself: this collector was restored "
                + "from a backup, or the device was revoked meanwhile, so an earlier wipe may have been carried out. "
                + "Issue it yourself if it is needed."
        case .withheld: what + evidence
        }
    }
}

extension VerdictIncident.Wipe {
    /// Whether the profile has to be asked.
    fileprivate var isOpen: Bool {
        if case .issued = self { false } else { true }
    }

    fileprivate var stored: Data? {
        switch self {
        case .none: nil
        case .issued(let command): command
        case .withheld: Data()
        }
    }
}

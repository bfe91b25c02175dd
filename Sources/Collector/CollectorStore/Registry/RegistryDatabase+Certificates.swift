import FoundationEssentials
import SQLite
import WireModel

/// Which client certificates are a device's.
extension RegistryDatabase {
    /// Of those that no device has come with yet: more answers than this are not lost in a row.
    private static let unusedCertificates = 4

    /// - Parameter reason: `enrollment` or `renewal`, for the audit trail.
    func keep(_ certificate: DeviceCertificate, of id: DeviceID, for reason: String) throws(StoreError) {
        let kept = try transaction { () throws(SQLiteError) in
            guard let device = try row(of: id, organization: nil), device.revoked == nil, device.left == nil else { return false }
            let insert = try connection.cached(
                "INSERT INTO device_certificate (device, fingerprint, serial, issued, expires) VALUES (?, ?, ?, ?, ?)")
            try insert.bind(id.data, certificate.fingerprint, certificate.serial, certificate.issued, certificate.expires)
            try insert.run()
            let prune = try connection.cached(
                """
                DELETE FROM device_certificate WHERE row IN (SELECT row FROM device_certificate WHERE device = ? AND used IS NULL
                ORDER BY row DESC LIMIT -1 OFFSET \(Self.unusedCertificates))
                """)
            try prune.run(binding: id.data)
            try audit.append(
                AuditEntry(
                    .certificateIssue, by: .device(id), organization: device.organization, subject: id.description,
                    detail: ["serial": certificate.serial.hexadecimal, "for": reason]),
                at: certificate.issued)
            return true
        }
        cache.remove(id)
        guard kept else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
    }

    /// The device has come with it: those issued before it are refused from now on.
    func noteUse(ofCertificate fingerprint: Data, by id: DeviceID) throws(StoreError) {
        let now = clock.now()
        try transaction { () throws(SQLiteError) in
            let use = try connection.cached("UPDATE device_certificate SET used = ? WHERE device = ? AND fingerprint = ? AND used IS NULL")
            try use.bind(now, id.data, fingerprint)
            try use.run()
            let end = try connection.cached(
                """
                DELETE FROM device_certificate WHERE device = ?1
                AND row < (SELECT row FROM device_certificate WHERE device = ?1 AND fingerprint = ?2)
                """)
            try end.bind(id.data, fingerprint)
            try end.run()
        }
        cache.remove(id)
    }

    /// In the order of their issue.
    func certificates(of id: DeviceID) throws(SQLiteError) -> [DeviceCertificate] {
        let statement = try connection.cached(
            "SELECT fingerprint, serial, issued, expires, used FROM device_certificate WHERE device = ? ORDER BY row")
        try statement.bind(id.data)
        defer { statement.reset() }
        var found: [DeviceCertificate] = []
        while try statement.step() {
            found.append(
                DeviceCertificate(
                    fingerprint: statement.data(0), serial: statement.data(1), issued: statement.int64(2), expires: statement.int64(3),
                    used: statement.optionalInt64(4)))
        }
        return found
    }

    /// Inside a transaction: the device is to come with none of those it has.
    func endCertificates(of id: DeviceID) throws(SQLiteError) {
        try connection.cached("DELETE FROM device_certificate WHERE device = ?").run(binding: id.data)
    }
}

import FoundationEssentials
import Logging
import RecordStore
import WipeCertificates
import WireModel

/// Certificates of wipes: verified when they arrive, and kept as long as their command.
extension MetadataService {
    /// The key that a device registered when it last enrolled.
    package struct WipeKey: Equatable, Sendable {
        /// Ed25519, 32 bytes.
        package var key: Data
        /// Microseconds since 1970.
        package var enrolled: Int64
        /// The id of the enrollment token, if it is known.
        package var enrollmentToken: String?
    }

    /// The key of a device's present enrollment; `nil` if it registered none, or is not known.
    package nonisolated func wipeKey(of device: DeviceID) async throws(StoreError) -> WipeKey? {
        try await readers.read { connection throws(StoreError) in
            try connection.first(
                "SELECT wipe_key, enrolled, enrollment_token FROM device WHERE id = ? AND wipe_key IS NOT NULL",
                device.data
            ) { row throws(StoreError) in
                WipeKey(
                    key: try row.data("wipe_key"), enrolled: try row.int64("enrolled"),
                    enrollmentToken: try row.optionalString("enrollment_token"))
            }
        }
    }

    /// What a device sent as the certificate of a wipe, verified with the key that it registered. Whatever arrives is
    /// kept: evidence that is wrong is evidence too. Call it inside a transaction.
    ///
    /// - Returns: `nil` if it sent nothing, or if the device was deleted.
    func certificate(
        in result: WireCommandResult, of row: CommandRow, at time: Int64
    ) throws(StoreError) -> WipeCertificateFile? {
        guard !result.wipeCertificate.isEmpty, let kind = row.command.action?.kind else { return nil }
        let enrolled = try connection.first(
            "SELECT organization, enrolled, enrollment_token, wipe_key FROM device WHERE id = ?", row.device.data
        ) { device throws(StoreError) in
            WipeCertificateFile.Collector(
                id: "\(collectorID)", organization: try device.string("organization"), device: "\(row.device)",
                command: row.id?.description ?? "", received: time, enrolled: try device.int64("enrolled"),
                enrollmentToken: try device.optionalString("enrollment_token"),
                key: try device.optionalData("wipe_key"))
        }
        guard let enrolled else { return nil }
        let file = WipeCertificateFile(document: result.wipeCertificate, kind: kind, collector: enrolled)
        logger.notice(
            "a wipe certificate has arrived",
            metadata: [
                "device.id": "\(row.device)", "command.id": "\(enrolled.command)",
                "finding": "\(file.collector?.finding ?? "verified")",
            ])
        return file
    }

    static func stored(_ certificate: WipeCertificateFile) throws(StoreError) -> Data {
        do { return try certificate.encoded() } catch {
            throw StoreError(.internalFault, "a wipe certificate cannot be encoded: \(error)")
        }
    }
}

extension WireCommandResult {
    /// With little more of a certificate than one may have, because results wait in memory. What is too long is found
    /// so when it is verified.
    var bounded: WireCommandResult {
        guard wipeCertificate.utf8.count > SignedWipeCertificate.maximumBytes else { return self }
        var result = self
        result.wipeCertificate = wipeCertificate.cut(toBytes: SignedWipeCertificate.maximumBytes + 4)
        return result
    }
}

import Encryption
import FoundationEssentials
import Transmitter
import WipeCertificates
import WireModel

/// What a wipe found before it erased anything, for its certificate: the journal of the wipe. It holds no secret.
///
/// It is on disk before the first key goes, in the wipe's note. So a kill between two steps costs the certificate
/// nothing, although what is listed here is gone by then.
struct WipeInventory: Codable, Equatable, Sendable {
    /// `nil`: there were none.
    var keys: KeyRing.Inventory?
    /// Epochs of the queue.
    var epochs: [String]
    /// Records that waited, those of ended epochs included.
    var records: UInt64
    var logSegments: Int

    /// Keys that an attempt before this one found are destroyed, and not found any more.
    mutating func add(_ found: KeyRing.Inventory?) {
        guard let found else { return }
        guard let known = keys else { return keys = found }
        let new = found.keys.filter { !known.keys.contains($0) }
        keys = KeyRing.Inventory(
            provider: known.provider ?? found.provider, device: known.device ?? found.device, keys: known.keys + new)
    }

    mutating func add(keys destroyed: [KeyRing.DestroyedKey]) {
        guard !destroyed.isEmpty else { return }
        add(KeyRing.Inventory(provider: nil, device: nil, keys: destroyed))
    }

    /// - Parameter isKeyFileLeft: the device key is in a key file that could not be destroyed.
    func method(isKeyFileLeft: Bool) -> WipeCertificate.Method {
        guard let keys else { return .noKeys }
        guard let provider = keys.provider else { return .unknownKeys }
        return provider == .file && !isKeyFileLeft ? .overwritten : .forgotten
    }
}

/// The evidence of a wipe that has erased everything.
struct WipeEvidence: Equatable, Sendable {
    /// The certificate as `SignedWipeCertificate.text`; `nil` if there is none.
    var certificate: String?
    /// Why there is none, for people.
    var remark: String?
}

extension WipeEvidence {
    /// Signs a certificate of a wipe.
    ///
    /// - Parameter note: of a wipe that has erased everything; others have no certificate.
    init(of note: WipeNote, by core: SamplerCore) {
        guard let inventory = note.inventory, let ended = note.ended else {
            remark = "no certificate: the wipe began with a version that makes none"
            return
        }
        do {
            guard let enrollment = try core.identity.load() else {
                remark = "no certificate: the device is not enrolled, so nobody knows a key of it"
                return
            }
            guard let bytes = enrollment.wipeKey, let key = WipeSigningKey(rawRepresentation: bytes) else {
                remark =
                    "no certificate: the device enrolled with a version that registered no key for it. "
                    + "`ws1agent reset-credentials` registers one for the next wipe"
                return
            }
            let keys = inventory.keys
            let certificate = WipeCertificate(
                kind: note.leaveBy == nil ? .clearData : .enterprise,
                command: note.command.flatMap { Identifier<WipeSubject>($0) }?.description,
                device: "\(enrollment.deviceID)", organization: enrollment.organization,
                collector: "\(enrollment.collectorID)", epochs: inventory.epochs,
                deviceKey: keys?.provider.map {
                    WipeCertificate.DeviceKey(provider: $0.rawValue, fingerprint: keys?.device ?? "")
                },
                keys: (keys?.keys ?? []).map {
                    WipeCertificate.Key(id: $0.id, purpose: $0.purpose, fingerprint: $0.fingerprint)
                }, method: inventory.method(isKeyFileLeft: note.isKeyFileLeft ?? false),
                records: inventory.records, logSegments: inventory.logSegments, begun: note.recorded, ended: ended)
            self.certificate = try SignedWipeCertificate(certificate, signedWith: key).text
        } catch {
            remark = "no certificate: \((error as? DataSamplerError)?.message ?? "\(error)")"
        }
    }
}

private enum WipeSubject {}

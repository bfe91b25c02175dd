import Encryption
import FoundationEssentials
import Logging
import RecordQueue
import TelemetryBasics
import WireModel

/// Whether what is on the disk is encrypted, and what a start without the keys does.
///
///     start ── keys at hand ──► state files read ──► everything runs
///       │
///       └── keys not at hand ──► locked: samples and events wait in the queue's memory, nothing is sent
///                                  │
///                                  └── passcode entered, key file restored ──► opened anew, as at a start
///
/// A locked device knows neither its credential nor its profile, so it contacts nobody. What a person decided is plain
/// and holds. Records have no personal field, because the profile may forbid any.
extension SamplerCore {
    /// The start could not open what is sealed.
    var isLocked: Bool { seal.obstacle != nil }

    /// What of the keys is shown. Reads the file `keys`.
    var encryption: DataSamplerStatus.Encryption {
        guard seal.isSealing || isLocked else { return DataSamplerStatus.Encryption(isOn: false) }
        let status = keys.status
        // After a start without them, what is sealed stays closed until everything is opened anew.
        let obstacle = status.obstacle ?? seal.obstacle
        return DataSamplerStatus.Encryption(
            isOn: seal.isSealing, provider: status.provider.rawValue, isLocked: obstacle != nil,
            reason: obstacle?.message)
    }

    /// - Throws: `keyUnavailable` after a start without the keys.
    func requireKeys() throws(DataSamplerError) {
        if let obstacle = seal.obstacle { throw DataSamplerError(.keyUnavailable, obstacle.message, cause: obstacle) }
    }

    /// Seals what a wipe left plain.
    func sealState() {
        guard !gate.isWiping else { return }
        do throws(DataSamplerError) {
            if try seal.convertIfDue(others: []) { identity.copyIsOutdated() }
        } catch {
            logger.warning("some files are not encrypted yet", metadata: ["reason": "\(error.message)"])
        }
    }
}

extension DataSamplerStatus.Encryption {
    var wire: WireEncryptionStatus {
        var status = WireEncryptionStatus()
        if isOn { status.provider = provider ?? "" }
        status.locked = isLocked
        return status
    }
}

extension DataSamplerConfiguration {
    /// What holds while the profile cannot be read: no personal field is recorded, and nothing at all if telemetry was
    /// switched off.
    func whileLocked() -> DataSamplerConfiguration {
        var configuration = self
        for fieldClass in FieldClass.decidable { configuration.privacy[fieldClass.rawValue] = .drop }
        if Paths.exists("\(directory)/\(ReportedOff.fileName)") { configuration.telemetryDisabled = true }
        return configuration
    }
}

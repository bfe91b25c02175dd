import Encryption
import Logging
import RecordQueue
import TelemetryBasics
import Transmitter
import WireModel

/// The endings of a device: wipes and unenrollments, as far as the core is concerned.
extension SamplerCore {
    /// A wipe: what is kept beside the queue and says something of the person or the program's use. Harmless twice.
    func eraseKeptState() throws(DataSamplerError) {
        try beacons.pushTokens.erase()
        try analytics.erase()
        try geofences.erase()
        try eraseDamagedFiles()
    }

    /// A wipe: what is sealed cannot be read from then on, whatever becomes of its files. Harmless twice.
    ///
    /// - Returns: the keys that were there.
    @discardableResult func destroyKeys() throws(DataSamplerError) -> [KeyRing.DestroyedKey] {
        try seal.openWhatSurvives()
        do throws(EncryptionError) {
            let destroyed = try keys.destroy()
            for key in destroyed {
                logger.warning(
                    "a key is destroyed",
                    metadata: ["key": "\(key.id)", "purpose": "\(key.purpose)", "fingerprint": "\(key.fingerprint)"])
            }
            return destroyed
        } catch { throw DataSamplerError(error) }
    }

    /// A file that was kept as damaged holds what the file held.
    private func eraseDamagedFiles() throws(DataSamplerError) {
        let directory = configuration.directory
        do throws(FileError) {
            for name in try Files<FileError>.names(in: directory) where name.hasSuffix(DurableFile.damagedSuffix) {
                try Files<FileError>.remove("\(directory)/\(name)")
            }
            try Files<FileError>.sync(directory: directory)
        } catch { throw DataSamplerError(error, otherwise: .storage) }
    }

    /// Erases what is kept of the enrollment, and its traces in other files; disk-formats.md lists what stays. The
    /// credential goes first. May be repeated.
    func eraseEnrollment(parts: LeaveKeeper.EraseParts) async throws(DataSamplerError) {
        do { try identity.unenroll() } catch {
            throw (error as? DataSamplerError) ?? DataSamplerError(.identity, "\(error)", cause: error)
        }
        try await parts()
        try pins.erase()
        try authorities.erase()
        try geofences.erase()
        try RuntimeSettings.file(in: configuration.directory).file.remove()
        try ReportedBlocks.file(in: configuration.directory).file.remove()
        try ReportedOff.file(in: configuration.directory).file.remove()
        do throws(QueueError) {
            // Nothing of this device is left in the queue, so it belongs to whoever enrolls next.
            try await queue.rebind(to: nil)
            try await queue.finishWipe()
        } catch {
            throw DataSamplerError(error)
        }
    }

    /// Shuts the gate where this device was unenrolled and no other token enrolls it again.
    ///
    /// - Throws: `identity` where the file cannot be read or is damaged.
    func honourUnenrollment() throws(DataSamplerError) {
        do {
            guard case .unenrolled = try identity.state(), try identity.enrollmentToken() == nil else { return }
        } catch {
            throw (error as? DataSamplerError) ?? DataSamplerError(.identity, "\(error)", cause: error)
        }
        changeGate { $0.isUnenrolled = true }
    }

    /// Shuts the gate where a wipe or an unenrollment was begun and not finished, or this device was unenrolled; for
    /// callers that do not go on with it. A file of either that is there and cannot be read counts; an identity that
    /// cannot be read says nothing of either, and status shows it.
    func honourWhatIsUnderWay() {
        func isRecorded<Note>(_ file: StateFile<Note>) -> Bool {
            do { return try file.load() != nil } catch { return true }
        }
        let isWiping = isRecorded(WipeNote.file(in: configuration.directory))
        let isLeaving = isRecorded(LeaveNote.file(in: configuration.directory))
        changeGate { gate in
            gate.isWiping = isWiping
            gate.isLeaving = isLeaving
        }
        try? honourUnenrollment()
    }
}

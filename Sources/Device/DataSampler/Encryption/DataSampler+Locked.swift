import Encryption
import Logging
import RecordQueue

/// A sampler that started without its keys.
extension DataSampler {
    /// How often a key that somebody may bring back is looked for.
    private static let look = Duration.seconds(10)

    /// Waits for a key file that is restored, or a host that has its key now. A passcode is heard of at once.
    func waitForKeys(_ core: SamplerCore) async {
        while core.keys.status.obstacle != nil {
            do { try await environment.sleeper.sleep(for: Self.look) } catch { return }
        }
        // A task of its own: opening anew ends this one.
        Task { await self.reopen() }
    }

    /// The keys may be at hand now.
    func keysAvailable() async {
        guard let core = try? running().core, core.keys.status.obstacle == nil else { return }
        await core.releaseWaitingRecords()
        if core.isLocked { await reopen() }
    }

    /// Gives up what is sealed and cannot be opened any more, because the passcode or the device key is lost. Sealed
    /// records are dropped and counted as unreadable; credential, profile and the other sealed files are removed. Then
    /// the device is a new one, which needs an enrollment token.
    ///
    /// A kill in between leaves the rest for the next call: the keys go last.
    ///
    /// - Throws: `invalidArgument` while the keys are at hand: then nothing is lost. `wipePending`, `queue`, `storage`,
    ///   `queueFull`, `notRunning`.
    package func giveUpSealed() async throws(DataSamplerError) {
        let core = try running().core
        guard let obstacle = core.keys.status.obstacle else {
            throw DataSamplerError(
                .invalidArgument, "the keys are at hand, so everything can be read: nothing is given up")
        }
        guard !core.gate.isWiping else {
            throw DataSamplerError(.wipePending, "a wipe is under way, which destroys the keys anyway: wait for it")
        }
        core.logger.warning("what is sealed is given up", metadata: ["reason": "\(obstacle.message)"])
        try core.seal.removeSealed()
        try await core.giveUpSealedRecords()
        do throws(EncryptionError) { try core.keys.destroy() } catch { throw DataSamplerError(error) }
        core.keys.renew()
        core.seal.forget()
        await reopen(always: true)
    }
}

/// Joins with the queue.
extension SamplerCore {
    /// The keys are at hand: records that waited in memory go to the disk.
    func releaseWaitingRecords() async {
        try? await queue.flush()
    }

    /// Sealed records are counted as unreadable, and the rest waits for the collector that enrolls this device next.
    func giveUpSealedRecords() async throws(DataSamplerError) {
        try await QueueTools(queue: queue).rebind(sending: true)
    }
}

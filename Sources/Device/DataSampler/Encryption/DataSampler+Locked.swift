import Encryption
import Logging
import RecordQueue
import Transmitter

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
        Task { await self.keysAvailable() }
    }

    /// The keys may be at hand now.
    func keysAvailable() async {
        guard let running = try? running(), running.core.keys.status.obstacle == nil else { return }
        running.core.queue.keysAvailable()
        running.parts.logs.keysAvailable()
        if running.core.isLocked { await reopen() }
    }

    /// Gives up what is sealed and cannot be opened any more, because the passcode or the device key is lost. Sealed
    /// records are dropped and counted as unreadable; credential, profile and the other sealed files are removed. Then
    /// the device is a new one, which needs an enrollment token.
    ///
    /// A kill in between leaves the rest for the next call: the keys go last.
    ///
    /// - Throws: `invalidArgument` if everything can be opened: then nothing is lost. `keyUnavailable` if the records
    ///   can be given up only after a new passcode was entered. `wipePending`, `queue`, `storage`, `queueFull`,
    ///   `notRunning`.
    package func giveUpSealed() async throws(DataSamplerError) {
        if try await giveUpWhatIsSealed() { await reopen(always: true) }
    }

    /// - Returns: whether everything must be opened anew.
    private func giveUpWhatIsSealed() async throws(DataSamplerError) -> Bool {
        // Whoever waits for the keys finds new ones in the middle of this.
        guard await life.enter() else { throw DataSamplerError(.notRunning, "the call was cancelled") }
        defer { life.leave() }
        let core = try running().core
        guard !core.gate.isWiping else {
            throw DataSamplerError(.wipePending, "a wipe is under way, which destroys the keys anyway: wait for it")
        }
        let obstacle = core.keys.status.obstacle
        if let obstacle {
            core.logger.warning("what is sealed is given up", metadata: ["reason": "\(obstacle.message)"])
            try core.seal.removeSealed()
            do throws(EncryptionError) { try core.keys.destroy() } catch { throw DataSamplerError(error) }
            core.keys.renew()
            core.seal.forget()
        }
        // Also after a kill between the two.
        let dropped: UInt64
        do throws(QueueError) { dropped = try await core.queue.giveUpSealed() } catch {
            guard error.code == .keyUnavailable else { throw DataSamplerError(error) }
            throw DataSamplerError(
                .keyUnavailable,
                "the sealed files are given up. Enter a new passcode, and then give up the sealed records too.",
                cause: error)
        }
        if obstacle != nil {
            // The identity is gone, too: what waits is for whoever enrolls this device next.
            try await QueueTools(queue: core.queue).rebind(sending: true)
            return true
        }
        guard dropped > 0 else {
            throw DataSamplerError(
                .invalidArgument, "the keys are at hand, so everything can be read: nothing is given up")
        }
        return false
    }
}

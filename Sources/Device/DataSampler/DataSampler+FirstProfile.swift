extension DataSampler {
    /// Waits until a profile is at hand, for a bounded time. A device that has never reached its collector has none, and takes no events until then;
    /// every other one has the profile of its last run, and this returns at once.
    ///
    /// The sampler runs on whatever the outcome is: it samples, keeps what it records, and asks the collector again by itself.
    ///
    /// - Parameter limit: how long at most.
    /// - Returns: ``FirstProfile/atHand(revision:)``, or why there is none yet. What a person has to mend ends the wait before the limit.
    /// - Throws: `notRunning`.
    public func firstProfile(within limit: Duration = .seconds(30)) async throws(DataSamplerError) -> FirstProfile {
        // Listened to before the look, so that nothing falls between the two.
        let notices = notifier.listen()
        if let profile = try await profile() { return .atHand(revision: profile.revision) }
        // Said once, and perhaps before somebody listened.
        if let refusal = await (try running()).parts.profiles.report.refusal { return .refused(refusal) }
        let clock = environment.sleeper
        let ended = await withTaskGroup(of: FirstProfile?.self) { group in
            group.addTask {
                for await notice in notices {
                    switch notice.kind {
                    case .profileApplied: return .atHand(revision: notice.details["revision"].flatMap { UInt64($0) } ?? 0)
                    case .profileRefused: return .refused(notice.message)
                    case .forbidden: return .forbidden(notice.message)
                    default: continue
                    }
                }
                return nil
            }
            group.addTask {
                try? await clock.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let ended { return ended }
        if let profile = try await profile() { return .atHand(revision: profile.revision) }
        let status = try await status()
        return .notReached(
            status.profile.failure ?? status.collector.lastFailureReason
                ?? "the collector \(configuration.collectorURL) has not answered within \(limit)")
    }
}

/// How a wait for a device's first profile ended, see ``DataSampler/firstProfile(within:)``.
public enum FirstProfile: Equatable, Sendable {
    /// A profile is applied, fetched now or by an earlier run: events are taken where it allows analytics.
    case atHand(revision: UInt64)
    /// What the collector sent is no profile to run. The text says why; somebody has to mend it at the collector.
    case refused(String)
    /// The collector refuses this device. The text says why; somebody has to act at the collector.
    case forbidden(String)
    /// The time is over, or the task was cancelled. The text says what the last attempt met.
    case notReached(String)
}

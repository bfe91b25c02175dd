/// Looks for one sign that the device or the program is compromised. An application adds its own with
/// ``DataSamplerConfiguration/detectors``; those of the library are listed in ``BuiltInDetector``.
///
/// ``examine()`` is called at the start, every ten minutes, and where a fresh answer is asked for, never for each beacon; one call at a time,
/// on a thread of Swift's pool: it should take milliseconds, and must not wait for a network.
public protocol CompromiseDetector: Sendable {
    /// Names the finding, stable and in kebab-case, 1 to 64 bytes: `system-path-writable`.
    var name: String { get }

    /// Looks now. `nil`: there is nothing of the kind here to look at (no EFI firmware, no loadable modules), which says neither yes nor no.
    func examine() -> CompromiseFinding?
}

/// What a ``CompromiseDetector`` has seen.
public struct CompromiseFinding: Equatable, Sendable {
    /// Whether the sign is there.
    public enum Verdict: String, Sendable {
        /// It could not be looked at. Never a guess either way.
        case unknown
        /// It was looked for and is not there.
        case no
        /// It is there.
        case yes
    }

    /// Evidence is at most this long; what is longer is cut at a character.
    public static let maximumEvidenceBytes = 512

    /// Whether the sign is there.
    public let verdict: Verdict
    /// What was seen, and where; no data of a person.
    public let evidence: String

    /// - Parameter evidence: what was seen, and where; cut to 512 bytes.
    public init(_ verdict: Verdict, evidence: String) {
        self.verdict = verdict
        self.evidence = evidence.bounded(bytes: Self.maximumEvidenceBytes)
    }
}

import SampleModules

/// Looks for one sign that the device or the program is compromised. An application adds its own with
/// ``DataSamplerConfiguration/detectors``; those of the library are listed in ``BuiltInDetector``.
///
/// ``examine()`` is called at the start, every ten minutes, and where a fresh answer is asked for, never for each
/// beacon; one call at a time, on a thread of Swift's pool: it should take milliseconds, and must not wait for a
/// network.
public protocol CompromiseDetector: Sendable {
    /// Names the finding, stable and in kebab-case, 1 to 64 bytes: `system-path-writable`.
    var name: String { get }

    /// Looks now. `nil`: there is nothing of the kind here to look at (no EFI firmware, no loadable modules), which
    /// says neither yes nor no.
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

/// The library's own detectors. The raw value is the name of their finding, and what configuration files give.
public enum BuiltInDetector: String, CaseIterable, Codable, Sendable {
    /// A system directory or file that others than root own or may write.
    case systemPathWritable = "system-path-writable"
    /// A kernel module that is unsigned or was forced in, loaded now or since boot.
    case kernelModuleUnsigned = "kernel-module-unsigned"
    /// Secure boot is off, or in setup mode.
    case secureBootDisabled = "secure-boot-disabled"
    /// A debugger or tracer is attached to this process.
    case tracerAttached = "tracer-attached"
    /// The program's file is not the one that was expected, or that was recorded at the first start of this release.
    case agentBinaryModified = "agent-binary-modified"
}

extension BuiltInDetector {
    /// The detector, for a machine and a configuration.
    func detector(host: any HostSource, configuration: DataSamplerConfiguration) -> any CompromiseDetector {
        switch self {
        case .systemPathWritable: SystemPathDetector(host: host)
        case .kernelModuleUnsigned: KernelModuleDetector(host: host)
        case .secureBootDisabled: SecureBootDetector(host: host)
        case .tracerAttached: TracerDetector(host: host)
        case .agentBinaryModified:
            AgentBinaryDetector(
                host: host, directory: configuration.directory,
                release: "\(configuration.applicationVersion)/\(DataSampler.version)",
                expected: configuration.expectedBinaryDigest)
        }
    }
}

extension DataSamplerConfiguration {
    /// Those of the library that are asked for, by their names, and then the application's own.
    func allDetectors(host: any HostSource) -> [any CompromiseDetector] {
        BuiltInDetector.allCases.filter(builtInDetectors.contains).map { $0.detector(host: host, configuration: self) }
            + detectors
    }
}

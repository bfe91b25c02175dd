import SampleModules

/// Searches one sign that the device or the program is compromised. An application adds its own with
/// ``DataSamplerConfiguration/detectors``; those of the library are listed in ``BuiltInDetector``.
///
/// ``examine()`` is called at the start, every ten minutes, and when a fresh result is requested, never for each
/// beacon. Calls come one at a time, on a thread of Swift's pool. It should take milliseconds, and must not wait for a
/// network.
public protocol CompromiseDetector: Sendable {
    /// The finding's name: stable, in kebab-case, 1 to 64 bytes, e.g. `system-path-writable`.
    var name: String { get }

    /// Examines the device now. `nil` means that there is nothing of the kind here (no EFI firmware, no loadable
    /// modules), which is neither yes nor no.
    func examine() -> CompromiseFinding?
}

/// The result of a ``CompromiseDetector``.
public struct CompromiseFinding: Equatable, Sendable {
    /// Whether the sign is there.
    public enum Verdict: String, Sendable {
        /// It could not be examined. Never a guess either way.
        case unknown
        /// It was searched and not found.
        case no
        /// It was found.
        case yes
    }

    /// The longest evidence in bytes; longer text is cut between characters.
    public static let maximumEvidenceBytes = 512

    /// Whether the sign is there.
    public let verdict: Verdict
    /// A description of the finding: what and where. No personal data.
    public let evidence: String

    /// - Parameter evidence: what was found and where; cut to 512 bytes.
    public init(_ verdict: Verdict, evidence: String) {
        self.verdict = verdict
        self.evidence = evidence.bounded(bytes: Self.maximumEvidenceBytes)
    }
}

/// The library's own detectors. The raw value is the finding's name, also in configuration files.
public enum BuiltInDetector: String, CaseIterable, Codable, Sendable {
    /// Somebody other than root owns or may write a system directory or file.
    case systemPathWritable = "system-path-writable"
    /// A kernel module that is unsigned or was forced, loaded now or since boot, or that the profile does not expect.
    case kernelModuleUnsigned = "kernel-module-unsigned"
    /// Secure boot is off, or in setup mode.
    case secureBootDisabled = "secure-boot-disabled"
    /// A debugger or tracer is attached to this process.
    case tracerAttached = "tracer-attached"
    /// The program's file is not the expected one, or not the one recorded at the first start of this release.
    case agentBinaryModified = "agent-binary-modified"
}

extension BuiltInDetector {
    /// The detector, for a machine and a configuration.
    func detector(
        _ rules: DetectionRules, host: any HostSource, configuration: DataSamplerConfiguration
    ) -> any CompromiseDetector {
        switch self {
        case .systemPathWritable: SystemPathDetector(host: host, paths: rules.systemPaths)
        case .kernelModuleUnsigned:
            KernelModuleDetector(host: host, allowed: rules.kernelModules, unsigned: rules.unsignedKernelModules)
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
    /// The library's detectors that run, by name, followed by the application's own.
    func allDetectors(_ rules: DetectionRules, host: any HostSource) -> [any CompromiseDetector] {
        BuiltInDetector.allCases.filter(rules.detectors.contains).map {
            $0.detector(rules, host: host, configuration: self)
        } + detectors
    }
}

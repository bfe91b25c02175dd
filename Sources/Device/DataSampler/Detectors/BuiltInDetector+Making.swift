import SampleModules

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
                release: "\(configuration.applicationVersion)/\(DataSampler.version)", expected: configuration.expectedBinaryDigest)
        }
    }
}

extension DataSamplerConfiguration {
    /// Those of the library that are asked for, by their names, and then the application's own.
    func allDetectors(host: any HostSource) -> [any CompromiseDetector] {
        BuiltInDetector.allCases.filter(builtInDetectors.contains).map { $0.detector(host: host, configuration: self) } + detectors
    }
}

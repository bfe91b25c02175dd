/// The signs that the library's detectors look for, as configuration and profile say.
struct DetectionRules: Equatable, Sendable {
    /// Those of the library that run. An application's own always run.
    var detectors = Set(BuiltInDetector.allCases)
    /// Paths that only root may own or write.
    var systemPaths = SystemPathDetector.paths
    /// The only kernel modules that may be loaded; empty for any.
    var kernelModules: Set<String> = []
    /// Kernel modules that may be unsigned or forced.
    var unsignedKernelModules: Set<String> = []
}

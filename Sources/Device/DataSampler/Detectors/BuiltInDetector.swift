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

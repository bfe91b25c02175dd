import WireModel

extension HostSource {
    /// Which boot this is; `nil` where the kernel does not say.
    package func bootID() -> BootID? {
        var buffer = FileBuffer(capacity: 64)
        guard read(BootIDFile.path, into: &buffer, maximumBytes: 64, keepOpen: false) == .complete else { return nil }
        return buffer.withBytes { BootIDFile.parse($0) }
    }
}

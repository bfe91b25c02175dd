import WireModel

/// `/proc/sys/kernel/random/boot_id`: the random identifier of this boot.
enum BootIDFile {
    static let path = "/proc/sys/kernel/random/boot_id"

    /// A UUID and a line end; without the latter it was cut off.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> BootID? {
        bytes.last == 0x0a ? BootID(bytes.trimmed.text) : nil
    }
}

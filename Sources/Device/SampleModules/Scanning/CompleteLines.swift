#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The complete lines of a file. A last line without its line end was cut off and is not given: half a number is none.
struct CompleteLines: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        // memchr: the interrupt line of /proc/stat is tens of kilobytes on a large server.
        guard position < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + position, 0x0a, bytes.count - position)
        else { return nil }
        let end = UnsafeRawPointer(found) - base
        defer { position = end + 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<end])
    }
}

import FoundationEssentials
import Glibc

/// Reads small files that people name, without taking in a large or endless one.
package enum BoundedFile {
    package enum Content {
        case whole(Data)
        case tooLong
    }

    /// `nil` where the file cannot be opened or read, or is a directory.
    package static func read(_ path: String, maximumBytes: Int) -> Content? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + filled, $0.count - filled) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return .whole(Data(bytes[..<filled])) }
            filled += count
        }
        return .tooLong
    }
}

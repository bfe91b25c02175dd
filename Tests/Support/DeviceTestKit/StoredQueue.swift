import Foundation
import Gzip

/// Data directories as earlier versions left them, in `QueueFiles/`; its README says what is in which.
package enum StoredQueue: String, CaseIterable, Sendable {
    case pending = "Version5/pending"
    case epochs = "Version5/epochs"
    case denied = "Version5/denied"
    case releasing = "Version5/releasing"
    case wiped = "Version5/wiped"

    /// Puts its files into a directory that is there.
    package func unpack(into directory: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "QueueFiles/\(rawValue)")
        // A file that is mostly zeros.
        let limits = InflateLimits(maximumBytes: 32 << 20, maximumRatio: .max >> 32, ratioFloorBytes: 32 << 20)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            var content = try Data(contentsOf: folder.appending(path: name))
            if name.hasSuffix(".gz") { content = try GzipCodec.decompress(content, limits: limits) }
            let target = name.hasSuffix(".gz") ? String(name.dropLast(3)) : name
            try content.write(to: URL(filePath: directory).appending(path: target))
        }
    }
}

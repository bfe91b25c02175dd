import Foundation

/// A directory of its own for each measurement, gone afterwards. Its name is short, for sockets in it, and nothing of
/// it begins with a dot, into which collectd does not write.
final class WorkDirectory: Sendable {
    let path: String

    init(in directory: String) throws {
        path = URL(fileURLWithPath: directory).appendingPathComponent(String(UUID().uuidString.prefix(8))).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

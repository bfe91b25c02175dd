import Foundation

/// A directory of its own for each measurement, gone afterwards.
final class WorkDirectory {
    let path: String

    init(in directory: String) throws {
        path = URL(fileURLWithPath: directory).appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

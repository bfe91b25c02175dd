import Foundation
import LogStore
import WireModel

/// A store's directory that goes with its last reference.
final class TemporaryStore: Sendable {
    let directory: StoreDirectory
    let epoch = LogEpochID(high: 0x6F0C_0000_0000_4000, low: 0x8000_0000_0000_0001)

    init() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("log-store-tests-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        directory = StoreDirectory(path: path)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory.path) }

    func write(_ bytes: [UInt8], _ file: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: directory.path(file)))
    }

    func read(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.path(file))))
    }

    var files: [String] { get throws { try directory.names().sorted() } }

    @discardableResult
    func seal(_ name: SegmentName, _ text: [UInt8]) throws -> SegmentSealer.Outcome {
        try write(text, name.file(.text))
        return try SegmentSealer().seal(name, in: directory, epoch: epoch)
    }
}

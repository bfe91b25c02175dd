import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import WireModel

/// A device's queue that can die. A crash opens a copy of its directory as it lies while the queue is open: what was
/// only in memory is gone.
final class CrashingQueue {
    private(set) var queue: RecordQueue
    private var directory: URL
    private let parent: URL
    private let clock: ManualRecordClock
    private var lives = 0

    init(parent: URL, clock: ManualRecordClock) throws {
        self.parent = parent
        self.clock = clock
        directory = parent.appending(path: "device-0")
        queue = try Self.open(directory, clock)
    }

    private static func open(_ directory: URL, _ clock: ManualRecordClock) throws -> RecordQueue {
        var configuration = RecordQueue.Configuration()
        configuration.keepFreeBytes = 0
        configuration.keepFreeInodesPercent = 0
        configuration.lossWindow = .seconds(60)
        return try RecordQueue.open(
            directory: directory.path, configuration: configuration, clock: clock,
            logger: Logger(label: "queue") { _ in SwiftLogNoOpLogHandler() })
    }

    func crash() async throws {
        try await go(on: image())
    }

    /// A copy of the directory as it lies while the queue is open.
    func image() throws -> URL {
        lives += 1
        let copy = parent.appending(path: "device-\(lives)")
        try FileManager.default.copyItem(at: directory, to: copy)
        return copy
    }

    /// The image is brought back over what is there now.
    func restore(_ image: URL) async throws {
        try await go(on: image)
    }

    /// The queue of an image on another machine; whoever opens it closes it.
    func openElsewhere(_ image: URL) throws -> RecordQueue {
        try Self.open(image, clock)
    }

    private func go(on next: URL) async throws {
        let former = (queue, directory)
        queue = try Self.open(next, clock)
        directory = next
        await former.0.close()
        try FileManager.default.removeItem(at: former.1)
    }

    func close() async {
        await queue.close()
        try? FileManager.default.removeItem(at: directory)
    }
}

import Foundation
import Glibc
import Testing
import WireModel

@testable import RecordQueue

@Suite("Full disk", .serialized)
struct DiskFullTests {
    @Test(.enabled(if: SmallDisk.isAvailable, "needs root and mount(8): a small tmpfs is filled to its last byte"))
    func
        `At zero bytes free sending, acknowledging and dropping go on; enqueueing fails typed until there is space`()
        async throws
    {
        let disk = try SmallDisk(megabytes: 24)
        let fixture = try QueueFixture(in: disk.path)
        var configuration = QueueFixture.configuration { $0.maximumBytes = 32 << 20 }
        configuration.bufferBytes = 300_000
        var queue = try fixture.open("", configuration)
        var collector = ModelCollector()
        for _ in 1...400 { _ = try await queue.enqueueDurably(fixture.record(.event, bytes: 2000)) }
        try disk.fill()

        var accepted: UInt64 = 400
        var refusal: QueueError?
        for _ in 1...1000 where refusal == nil {
            do throws(QueueError) {
                _ = try await queue.enqueueDurably(fixture.record(.event, bytes: 2000))
                accepted += 1
            } catch { refusal = error }
        }
        #expect(refusal?.code == .diskFull, "what was allocated is used up, then it is refused")
        var full: QueueError?
        for _ in 1...1000 where full == nil {
            do throws(QueueError) { try queue.enqueue(fixture.record(bytes: 2000)) } catch { full = error }
            try? await queue.flush()
        }
        #expect(full?.code == .diskFull)
        #expect(disk.freeBytes == 0)

        // Small steps first: a gap, a quarantine copy, an acknowledgement of little frees no page.
        #expect(try await queue.drop(oldest: 1, of: .event, reason: .quarantined, keepAside: true) != nil)
        for index in 1...40 {
            #expect(
                try await queue.drop(
                    oldest: 1, of: .event, reason: index % 2 == 0 ? .byteCap : .ageCap, keepAside: false) != nil)
        }
        let part = try #require(
            try await queue.nextPart(of: .event, maximumBytes: 20000, maximumRecords: 100, hold: .zero))
        #expect(try await queue.apply(collector.post(part)) == .remove)
        #expect(try await queue.balance()[.event]?.closes == true)

        // Also after a restart on the full disk.
        await queue.close()
        queue = try fixture.open("", configuration)
        _ = try await queue.drop(oldest: 100, of: .event, reason: .byteCap, keepAside: false)
        _ = try await collector.drain(queue, maximumBytes: 100_000)
        let balance = try #require(try await queue.balance()[.event])
        #expect(
            balance.closes && balance.waiting == 0 && balance.stored + 141 == accepted
                && (balance.dropped["disk-full"] ?? 0) >= 1)
        #expect(disk.freeBytes == 0)
        for _ in 1...100 { _ = try await queue.enqueueDurably(fixture.record(.status, bytes: 2000)) }

        disk.empty()
        for _ in 1...2000 { _ = try await queue.enqueueDurably(fixture.record(.event, bytes: 2000)) }
        _ = try await collector.drain(queue)
        #expect(try await queue.balance().values.allSatisfy { $0.closes && $0.waiting == 0 })
        #expect(try await queue.status().failure == nil)
        await queue.close()
    }

    @Test(
        .enabled(if: SmallDisk.isAvailable, "needs root and mount(8): a small tmpfs is filled to its last byte"),
        arguments: [EpochEnd.restored, .wiped, .reboundSend])
    func `At zero bytes free an epoch ends, is closed, and its records are queued anew`(_ end: EpochEnd) async throws {
        let disk = try SmallDisk(megabytes: 24)
        let fixture = try QueueFixture(in: disk.path)
        let queue = try fixture.open("", QueueFixture.configuration { $0.maximumBytes = 32 << 20 })
        var collector = ModelCollector()
        for _ in 1...8 {
            for _ in 1...250 { try queue.enqueue(fixture.record(.event, bytes: 2000)) }
            try await queue.flush()
        }
        try disk.fill()
        for _ in 1...2000 {
            guard (try? await queue.enqueueDurably(fixture.record(.event, bytes: 2000))) != nil else { break }
        }
        let waiting = try #require(try await queue.balance()[.event]?.waiting)
        try await queue.endEpoch(end)
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue, maximumBytes: 100_000)
        #expect(collector.stored[.event]?.count ?? 0 == (end == .wiped ? 0 : Int(waiting)))
        #expect(try await queue.balance().values.allSatisfy { $0.closes && $0.waiting == 0 })
        #expect(disk.freeBytes == 0 || end == .wiped)
        await queue.close()
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "needs root and mount(8): a small tmpfs is filled to its last byte"))
    func `The file does not grow into the space that is to stay free`() async throws {
        let disk = try SmallDisk(megabytes: 24)
        let fixture = try QueueFixture(in: disk.path)
        let queue = try fixture.open("", QueueFixture.configuration { $0.keepFreeBytes = 10 << 20 })
        var refusal: QueueError?
        for _ in 1...3000 where refusal == nil {
            do throws(QueueError) { _ = try await queue.enqueueDurably(fixture.record(bytes: 10000)) } catch {
                refusal = error
            }
        }
        #expect(refusal?.code == .diskFull)
        #expect(disk.freeBytes >= 10 << 20 && disk.freeBytes < 12 << 20)
        await queue.close()
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "needs root and mount(8): a small tmpfs is filled to its last byte"))
    func `A first start without room is refused, typed, and works once there is some`() async throws {
        let disk = try SmallDisk(megabytes: 24)
        let fixture = try QueueFixture(in: disk.path)
        try disk.fill()
        let error = #expect(throws: QueueError.self) { _ = try fixture.open() }
        #expect(error?.code == .diskFull, "\(String(describing: error))")
        disk.empty()
        let queue = try fixture.open()
        #expect(try await queue.enqueueDurably(fixture.record()) == 1)
        await queue.close()
    }
}

/// A tmpfs of its own, which can be filled to its last byte.
final class SmallDisk: Sendable {
    let path: String

    static let isAvailable: Bool = (try? SmallDisk(megabytes: 1)) != nil

    init(megabytes: Int) throws {
        path = "\(FileManager.default.temporaryDirectory.path)/small-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard geteuid() == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
            let systemError = errno
            rmdir(path)
            throw POSIXError(POSIXErrorCode(rawValue: systemError) ?? .EPERM)
        }
    }

    deinit {
        umount2(path, 2)  // MNT_DETACH
        rmdir(path)
    }

    var freeBytes: Int {
        var figures = statvfs()
        statvfs(path, &figures)
        return Int(figures.f_bavail) * Int(figures.f_frsize)
    }

    func fill() throws {
        let descriptor = open("\(path)/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 1, count: 1 << 16)
        while write(descriptor, bytes, bytes.count) > 0 {}
        guard freeBytes == 0 else { throw POSIXError(.EIO) }
    }

    /// All but so many bytes.
    func fill(leaving bytes: Int) throws {
        let descriptor = open("\(path)/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(descriptor) }
        guard posix_fallocate(descriptor, 0, off_t(freeBytes - bytes)) == 0 else { throw POSIXError(.EIO) }
    }

    func empty() {
        unlink("\(path)/filler")
    }
}

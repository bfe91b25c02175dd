import LogStore
import TelemetryBasics
import WireModel

/// Takes in the kernel's ring, `/dev/kmsg`.
///
/// Each record has a number, so what was overwritten before it was read is known exactly. The position is the boot and
/// the number of the next record. Reading always begins with the oldest record, and passes by what was read: only so
/// the first record behind the position shows whether others were between.
package final class KernelIntake: IntakeSource {
    package struct Configuration: Sendable {
        /// `all` is what the ring has, `now` is behind its newest record, and `since` goes by the records' own time.
        package var start = IntakeStart.now
        /// The highest number of a priority, 0 (emergency) to 7 (debug).
        package var priority = SyslogPriority.debug

        package init() {}
    }

    /// The position: `<boot id> <number of the next record>`.
    static let nextKey = "next"
    /// Bytes of the first buffer and of the largest one. The kernel's records have at most 8 KiB.
    private static let bufferBytes = 16 << 10
    private static let maximumBufferBytes = 1 << 20
    /// Records that one call passes by before a position is stored. Rings have fewer.
    private static let maximumSkipped = 1 << 20

    private struct Position: Equatable {
        var boot: String
        var next: UInt64

        init(boot: String, next: UInt64) {
            self.boot = boot
            self.next = next
        }

        init?(_ encoded: [UInt8]) {
            let parts = String(decoding: encoded, as: UTF8.self).split(separator: " ")
            guard parts.count == 2, let next = UInt64(parts[1]) else { return nil }
            self.init(boot: String(parts[0]), next: next)
        }

        var encoded: [UInt8] { Array("\(boot) \(next)".utf8) }
    }

    private let configuration: Configuration
    private let clock: IntakeClock
    private let open: () throws(IntakeFailure) -> any KernelRing
    private let bootID: () -> String?
    private var ring: (any KernelRing)?
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 8)
    private var boot = ""
    /// `nil`: the source was never read.
    private var position: Position?
    /// The number that the next record should have; `nil`: any, because nothing was promised before the first start.
    private var expected: UInt64?
    private var isAtEnd = false
    private var problem: String?

    package convenience init(_ configuration: Configuration, clock: IntakeClock = .system) {
        self.init(configuration, clock: clock, bootID: { SystemClock.bootID() }) { () throws(IntakeFailure) in
            try KernelDevice()
        }
    }

    /// - Parameters:
    ///   - bootID: of the present boot.
    ///   - open: opens the ring at its oldest record.
    init(
        _ configuration: Configuration, clock: IntakeClock, bootID: @escaping () -> String?,
        open: @escaping () throws(IntakeFailure) -> any KernelRing
    ) {
        self.configuration = configuration
        self.clock = clock
        self.bootID = bootID
        self.open = open
    }

    deinit { buffer.deallocate() }

    package var lag: IntakeLag {
        IntakeLag(bytes: isAtEnd ? 0 : nil, parts: problem == nil ? 1 : 0, problems: problem.map { [$0] } ?? [])
    }

    package func begin(at positions: [String: [UInt8]]) {
        ring = nil
        position = positions[Self.nextKey].flatMap { Position($0) }
    }

    /// The ring keeps what was read, so there is nothing to let go of.
    package func committed() {}

    package func read(into batch: inout IntakeBatch) -> Bool {
        let former = position
        defer { if let position, position != former { batch.set(Self.nextKey, position.encoded) } }
        do throws(IntakeFailure) {
            let isFirst = position == nil
            let hasMore =
                isFirst && configuration.start == .now ? try skipAll() : try readAll(into: &batch, isFirst: isFirst)
            problem = nil
            return hasMore
        } catch {
            problem = error.description
            isAtEnd = false
            ring = nil
            return false
        }
    }

    private func opened() throws(IntakeFailure) -> any KernelRing {
        if let ring { return ring }
        guard let boot = bootID() else {
            throw IntakeFailure("/proc/sys/kernel/random/boot_id cannot be read, and tells the records of boots apart")
        }
        let ring = try open()
        self.boot = boot
        self.ring = ring
        // Another boot begins its numbers with 0.
        expected = position.map { $0.boot == boot ? $0.next : 0 }
        return ring
    }

    // MARK: - Reading

    /// Passes by all that is there, and stores the place at once: what comes from then on is taken.
    private func skipAll() throws(IntakeFailure) -> Bool {
        var next: UInt64 = 0
        var count = 0
        while count < Self.maximumSkipped, let record = try nextRecord() {
            next = record.sequence + 1
            count += 1
        }
        expected = next
        position = Position(boot: boot, next: next)
        return true
    }

    /// - Parameter isFirst: nothing was read before, so `since` counts.
    private func readAll(into batch: inout IntakeBatch, isFirst: Bool) throws(IntakeFailure) -> Bool {
        // What the wall clock showed at the boot, by its present setting.
        let origin = clock.wallMicroseconds() - clock.monotonicMicroseconds()
        isAtEnd = false
        while !batch.isFull {
            guard let record = try nextRecord() else {
                isAtEnd = true
                // The boot is noted also where nothing is there yet, so that later records are known to be new.
                if position?.boot != boot { position = Position(boot: boot, next: expected ?? 0) }
                return false
            }
            let next = expected ?? record.sequence
            guard record.sequence >= next else { continue }
            if record.sequence > next {
                batch.report(
                    "records of the kernel's ring were overwritten before they were read",
                    [
                        "records": "\(record.sequence - next)", "from": "\(next)", "to": "\(record.sequence - 1)",
                        "boot": boot,
                    ])
            }
            expected = record.sequence + 1
            position = Position(boot: boot, next: record.sequence + 1)
            let (time, overflow) = origin.addingReportingOverflow(record.microseconds)
            if isFirst, case .since(let start) = configuration.start, !overflow, time < start { continue }
            guard record.severity <= configuration.priority else { continue }
            batch.add(entry(record), at: overflow || time < 0 ? nil : time)
        }
        return true
    }

    /// - Returns: `nil` at the end.
    private func nextRecord() throws(IntakeFailure) -> KernelRecord? {
        while true {
            switch try opened().read(into: buffer) {
            case .record(let count):
                // What is no record has no number either, and is in the gap before the next one.
                let record = KernelRecord(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                if let record, record.sequence < .max { return record }
            case .end: return nil
            // The next record's number says how many are gone.
            case .overrun: continue
            case .tooLong:
                guard buffer.count < Self.maximumBufferBytes else {
                    throw IntakeFailure("\(KernelDevice.path) has a record of more than \(buffer.count) bytes")
                }
                let larger = 2 * buffer.count
                buffer.deallocate()
                buffer = .allocate(byteCount: larger, alignment: 8)
                // It may be passed by already, so all is read again, and what was read is known by its numbers.
                ring = nil
            case .failed(let error): throw KernelDevice.failure(error)
            }
        }
    }

    private func entry(_ record: KernelRecord) -> LogEntry {
        // The kernel's time stays beside that of the wall clock, which somebody may set meanwhile.
        let fraction = String(record.microseconds % 1_000_000 + 1_000_000).dropFirst()
        var metadata = ["boot": boot, "monotonic": "\(record.microseconds / 1_000_000).\(fraction)"]
        metadata["facility"] = SyslogPriority.facility(record.facility)
        metadata["subsystem"] = record.fields["SUBSYSTEM"]
        metadata["device"] = record.fields["DEVICE"]
        return LogEntry(SyslogPriority.level(record.severity), record.text, metadata: metadata)
    }
}

import Synchronization
import TelemetryBasics
import WireModel

/// The outcome of delivered lines. Each line is counted once.
package struct LogDelivery: Codable, Equatable, Sendable {
    /// Handed to the kernel, in a segment of the log.
    package var written: UInt64 = 0
    /// Handed to the kernel, in the ring, because they are less severe than the level in force.
    package var ring: UInt64 = 0
    /// Not written, because they are less severe than the level in force, or because logging is off.
    package var filtered: UInt64 = 0
    /// Could not be written.
    package var lost: UInt64 = 0
    /// The name of the level in force; `nil` if logging is off.
    package var level: String?
    /// Why lines were lost.
    package var reason: String?
    /// Lines were lost for lack of space, so a later attempt may succeed.
    package var isTransient = false

    package init(level: LogLevel?) { self.level = level?.name }

    package static func += (left: inout LogDelivery, right: LogDelivery) {
        left.written += right.written
        left.ring += right.ring
        left.filtered += right.filtered
        left.lost += right.lost
        left.level = right.level
        left.reason = right.reason ?? left.reason
        left.isTransient = right.isTransient || left.isTransient
    }
}

/// A line that a caller delivers and whose outcome the caller awaits.
package struct LogEntry: Equatable, Sendable {
    package var level: LogLevel
    package var category: String
    package var message: String
    package var metadata: [String: String]
    /// Bytes at the end of a very long message that the caller did not read. At most 2^40, because another program may
    /// claim any number, and sizes are added to it.
    package var leftOutBytes: Int

    package init(
        _ level: LogLevel, _ message: String, category: String = "", metadata: [String: String] = [:],
        leftOutBytes: Int = 0
    ) {
        self.level = level
        self.message = message
        self.category = category
        self.metadata = metadata
        self.leftOutBytes = min(max(0, leftOutBytes), 1 << 40)
    }
}

extension LogEntry {
    /// The bytes needed of a longer message. Scrubbing looks at no more, and the surplus shows that the message went
    /// on.
    package static let messageBytes = LineScrubber.windowBytes + 4
}

/// Writes lines into a store for a short-lived program, without a session, a thread or sealing. Not `Sendable`: use it
/// from one thread at a time.
///
/// It continues the text segment that the visitor before it left. Otherwise a thousand short programs would leave a
/// thousand segments. The next program that opens the store for long seals the segment. The visitor never continues the
/// segment of a session that ended without a crash report, because the segment's last lines belong into that report.
package final class LogVisitor {
    private let keeper: StoreKeeper
    private let rules: CaptureRules
    private let scrubber: LineScrubber?
    private let application: SegmentStream
    private let ring: SegmentStream
    private var losses = LossLedger()

    /// - Throws: `.invalid` for a configuration or scrub rules out of range.
    package convenience init(_ configuration: LogStore.Configuration) throws(LogStoreError) {
        try configuration.check()
        let scrubber = try LineScrubber(configuration.scrubbing)
        let rules = CaptureRules(
            level: configuration.level, hasRing: configuration.ringBytes > 0, isScrubbing: scrubber != nil)
        self.init(configuration.keeper, configuration.writerSettings, rules, scrubber)
    }

    fileprivate init(
        _ keeper: StoreKeeper, _ settings: LogWriter.Settings, _ rules: CaptureRules, _ scrubber: LineScrubber?
    ) {
        self.keeper = keeper
        self.scrubber = scrubber
        self.rules = rules
        application = SegmentStream(.application, maximumBytes: settings.segmentBytes, keeper: keeper, isVisiting: true)
        ring = SegmentStream(.ring, maximumBytes: settings.ringSegmentBytes, keeper: keeper, isVisiting: true)
    }

    /// Delivers as ``LogStore/deliver(_:)`` does.
    package func deliver(_ entries: [LogEntry]) -> LogDelivery {
        var acceptance = LineAcceptance(rules: rules, scrubber: scrubber)
        for entry in entries { acceptance.add(entry) }
        let before = (application.written.total, ring.written.total)
        application.beginTurn(&losses)
        ring.beginTurn(&losses)
        acceptance.buffer.forEach { line in
            (line.isRing ? ring : application).append(time: line.time, level: line.level, body: line.body, &losses)
        }
        application.flush(&losses)
        ring.flush(&losses)
        // The store's state counts the lost lines, if it can be written.
        if (try? keeper.count(losses.unsaved)) != nil { losses.saved() }
        return acceptance.delivery(
            written: application.written.total - before.0, ring: ring.written.total - before.1, failure: losses.failure)
    }
}

/// Brings delivered lines into their form on disk: filtered by level, scrubbed, escaped and cut.
struct LineAcceptance {
    private let word: Int
    private let scrubber: LineScrubber?
    let buffer = LineBuffer()
    private var delivery: LogDelivery

    /// - Parameter scrubber: `nil` if nothing is scrubbed.
    init(rules: CaptureRules, scrubber: LineScrubber?) {
        word = rules.word
        self.scrubber = scrubber
        delivery = LogDelivery(level: rules.level)
    }

    mutating func add(_ entry: LogEntry) {
        guard CaptureRules.accepts(entry.level, word) else {
            delivery.filtered += 1
            return
        }
        let isRing = CaptureRules.isRing(entry.level, word)
        if isRing { delivery.ring += 1 } else { delivery.written += 1 }
        var fields = LineFields(
            category: entry.category, message: entry.message,
            fields: entry.metadata.map { LineFields.Field(key: $0.key, value: $0.value) },
            leftOutBytes: entry.leftOutBytes)
        scrubber?.scrub(&fields)
        fields.body.withUnsafeBufferPointer { body in
            buffer.append(
                time: SystemClock.wallMicroseconds(), level: entry.level, isRing: isRing, category: body, message: nil)
        }
    }

    /// - Parameters:
    ///   - written, ring: lines of each kind that the kernel has.
    ///   - failure: why the other lines could not be written.
    func delivery(written: UInt64, ring: UInt64, failure: LogStoreError?) -> LogDelivery {
        var delivery = delivery
        delivery.lost = delivery.written - written + delivery.ring - ring
        (delivery.written, delivery.ring) = (written, ring)
        guard delivery.lost > 0 else { return delivery }
        delivery.reason = failure?.message ?? "the log is being closed"
        delivery.isTransient = failure.map { [.diskFull, .busy, .locked].contains($0.code) } ?? true
        return delivery
    }
}

extension LogStore {
    /// Writes lines on the caller's thread, behind everything logged before, and reports what became of each. When it
    /// returns, the kernel has the written lines, whatever their level. Waits for the disk.
    package func deliver(_ entries: [LogEntry]) -> LogDelivery {
        let (rules, scrubber) = capture
        var acceptance = LineAcceptance(rules: rules, scrubber: scrubber)
        for entry in entries { acceptance.add(entry) }
        let (written, ring, failure) = writer.deliver(acceptance.buffer)
        return acceptance.delivery(written: written, ring: ring, failure: failure)
    }

    /// Delivers as ``deliver(_:)`` does, for another program, whose bundle id the segments carry. One such call runs at
    /// a time, so that programs that log now and then share a segment for each bundle id.
    /// - Parameter level: the least severe level that is written; `nil` writes nothing.
    /// - Throws: `.invalid` for a bundle id that is too long.
    package func deliver(_ entries: [LogEntry], of application: String, level: LogLevel?) throws(LogStoreError)
        -> LogDelivery
    {
        try Configuration.check(applicationIdentifier: application)
        var keeper = keeper
        keeper.application = application
        let (present, scrubber) = capture
        let rules = CaptureRules(level: level, hasRing: present.hasRing, isScrubbing: present.isScrubbing)
        let visitor = LogVisitor(keeper, writer.settings, rules, scrubber)
        return visits.withLock { _ in visitor.deliver(entries) }
    }
}

import LogStore
import TelemetryBasics
import WireModel

/// Takes in messages of syslog that programs send to the agent.
///
/// There is no position: a socket gives nothing twice. A message is in memory from when it was received until it is on
/// synced disk, so a kill loses what came since the last commit. A stop loses nothing that came before it.
package final class SyslogIntake: IntakeSource {
    package struct Configuration: Sendable {
        package var addresses: [SyslogAddress]
        /// The highest number of a priority, 0 (emergency) to 7 (debug).
        package var priority = SyslogPriority.debug
        /// Bytes of messages that wait to be stored. Default 4 MiB: half a minute of a thousand messages a second.
        package var memoryBytes = 4 << 20
        var limits = SyslogListener.Limits()

        package init(_ addresses: [SyslogAddress]) { self.addresses = addresses }
    }

    /// A sender's clock is believed within a day ahead of the arrival and a year before it. Queues of relays are
    /// shorter, and a clock that was never set is further away.
    private static let aheadMicroseconds: Int64 = 86_400_000_000
    private static let behindMicroseconds: Int64 = 365 * 86_400_000_000
    /// Milliseconds between two looks at the addresses.
    private static let retryMilliseconds: Int64 = 1_000

    private let configuration: Configuration
    private let clock: IntakeClock
    private let inbox: SyslogInbox
    private(set) var listeners: [Int: SyslogListener] = [:]
    private var failures: [Int: String] = [:]
    /// Milliseconds since boot.
    private var nextTry = Int64.min
    private var isStopped = false
    /// Messages that were not of syslog, since the start.
    private(set) var unknown: UInt64 = 0
    private var handedUnknown: UInt64 = 0

    /// - Parameter fills: called by another thread when the messages should be read soon, because memory fills.
    package init(
        _ configuration: Configuration, clock: IntakeClock = .system, fills: @escaping @Sendable () -> Void = {}
    ) {
        self.configuration = configuration
        self.clock = clock
        inbox = SyslogInbox(maximumBytes: configuration.memoryBytes, fills: fills)
        // Also while nothing can be stored, messages wait in memory.
        listen()
    }

    deinit { for listener in listeners.values { listener.stop() } }

    package var lag: IntakeLag {
        var problems = failures.sorted { $0.key < $1.key }.map(\.value)
        if unknown > 0 {
            problems.append("since the start \(unknown) messages were not of syslog, and were stored as they came")
        }
        return IntakeLag(
            bytes: inbox.bytes, parts: listeners.count + listeners.values.reduce(0) { $0 + $1.connections },
            problems: problems)
    }

    package func begin(at positions: [String: [UInt8]]) {
        inbox.takeBack()
        handedUnknown = 0
    }

    package func committed() {
        inbox.stored()
        unknown += handedUnknown
        handedUnknown = 0
    }

    package func stop() -> Bool {
        isStopped = true
        for listener in listeners.values { listener.stop() }
        listeners = [:]
        return true
    }

    package func read(into batch: inout IntakeBatch) -> Bool {
        listen()
        report(inbox.nextLosses(), &batch)
        while !batch.isFull {
            let messages = inbox.next(bytes: IntakeBatch.maximumBytes / 8)
            if messages.isEmpty { return false }
            for message in messages { add(message, &batch) }
        }
        return true
    }

    private func listen() {
        let now = clock.bootMilliseconds()
        guard !isStopped, now >= nextTry else { return }
        nextTry = now + Self.retryMilliseconds
        // A socket whose path somebody removed, or put another socket at, would be silent for ever.
        for (index, listener) in listeners where !listener.isInPlace {
            listener.stop()
            listeners[index] = nil
        }
        for (index, address) in configuration.addresses.enumerated() where listeners[index] == nil {
            do throws(IntakeFailure) {
                listeners[index] = try SyslogListener(address, inbox, clock: clock, limits: configuration.limits)
                failures[index] = nil
            } catch { failures[index] = error.description }
        }
    }

    private func report(_ losses: SyslogInbox.Losses, _ batch: inout IntakeBatch) {
        if losses.noRoom.total > 0 {
            var metadata = ["messages": "\(losses.noRoom.total)"]
            for level in LogLevel.allCases where losses.noRoom[level] > 0 {
                metadata[level.name] = "\(losses.noRoom[level])"
            }
            batch.report(
                "messages of syslog were left out, because they came faster than they could be stored", metadata)
        }
        if losses.inKernel > 0 {
            batch.report(
                "the kernel dropped messages of syslog, because they came faster than they could be received",
                ["messages": "\(losses.inKernel)"])
        }
        if losses.connections > 0 {
            batch.report(
                "connections of syslog were refused, because there were too many",
                ["connections": "\(losses.connections)", "limit": "\(configuration.limits.connections)"])
        }
    }

    // MARK: - Lines

    private func add(_ received: SyslogInbox.Message, _ batch: inout IntakeBatch) {
        let message = received.text.withUnsafeBytes { SyslogMessage($0) }
        if !message.isKnown { handedUnknown += 1 }
        guard message.severity <= configuration.priority else { return }
        let line = Self.line(of: message, received)
        batch.add(line.entry, at: line.time)
    }

    /// A message as a line of the store. Its time is the sender's, if that has a zone and can be true, and otherwise
    /// that of the arrival: without a zone nobody knows which hour is meant, and a clock that was never set would put
    /// the line where nobody looks.
    static func line(of message: SyslogMessage, _ received: SyslogInbox.Message) -> (entry: LogEntry, time: Int64) {
        let time = message.time.flatMap { Timestamp.parse($0, .looseSeparators) }.flatMap { time in
            let isPlausible =
                time <= received.arrival + aheadMicroseconds && time >= received.arrival - behindMicroseconds
            return isPlausible ? time : nil
        }
        var metadata = message.values
        metadata["facility"] = SyslogPriority.facility(message.facility)
        metadata["host"] = message.host
        metadata["identifier"] = message.identifier
        metadata["pid"] = message.process
        metadata["messageID"] = message.messageID
        // A time that is not taken is kept as text.
        if time == nil { metadata["sent"] = message.time }
        if !message.isKnown { metadata["syslog"] = "unknown" }
        if message.leftOutValues > 0 { metadata["valuesLeftOut"] = "\(message.leftOutValues)" }
        let text = received.leftOutBytes > 0 ? "\(message.text)…[+\(received.leftOutBytes)]" : message.text
        return (
            LogEntry(SyslogPriority.level(message.severity), text, metadata: metadata), time ?? received.arrival
        )
    }
}

import WireModel

/// The lines of a crash log. Pure.
enum CrashLog {
    /// Of the session's last lines.
    static let tailBytes = 64 * 1024
    /// Under the limit of a segment, with the tail.
    static let backtraceLines = 4000

    /// - Parameters:
    ///   - ordinal: of the segment it goes into.
    ///   - tail: lines of the session's segments, whole, in order.
    ///   - now: microseconds since 1970; the time of the lines that are not of the session.
    static func text(
        _ session: SessionRecord, reason: CrashReason, backtrace: String?, tail: [[UInt8]], ordinal: UInt64, now: Int64,
        scrubber: LineScrubber?
    ) -> [UInt8] {
        var text: [UInt8] = []
        var pending = LineText()
        var position: UInt64 = 0
        func add(_ time: Int64, _ level: LogLevel, _ body: UnsafeRawBufferPointer) {
            position += 1
            pending.append(time: time, level: level, number: LogNumber(segment: ordinal, position: position), body: body)
            guard pending.isFull else { return }
            text += pending.bytes
            pending.empty()
        }
        func add(_ category: String, _ message: String, _ metadata: [(String, String)] = []) {
            var fields = LineFields(
                category: category, message: message, fields: metadata.map { LineFields.Field(key: $0.0, value: $0.1) })
            scrubber?.scrub(&fields)
            fields.body.withUnsafeBytes { add(now, .error, $0) }
        }
        add(
            "crash", "\(session.application) \(reason.text)",
            [
                ("application", session.application), ("process", "\(session.process)"), ("started", LogTime.text(session.started)),
                ("version", session.version),
            ])
        for line in (backtrace ?? "").split(separator: "\n").prefix(backtraceLines) { add("crash.backtrace", String(line)) }
        // Scrubbed when they were written.
        for line in tail {
            line.withUnsafeBytes { bytes in
                guard let line = LogLine(bytes) else { return }
                add(line.time, line.level, UnsafeRawBufferPointer(rebasing: bytes[line.category.lowerBound..<line.metadata.upperBound]))
            }
        }
        text += pending.bytes
        return text
    }
}

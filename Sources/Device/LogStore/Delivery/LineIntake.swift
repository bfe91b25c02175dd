import WireModel

/// Brings handed-over lines into the form they are written in: by level, scrubbed, escaped, cut.
struct LineIntake {
    private let word: Int
    private let scrubber: LineScrubber?
    let buffer = LineBuffer()
    private var delivery: LogDelivery

    /// - Parameter scrubber: `nil`: nothing is to be scrubbed.
    init(rules: CaptureRules, scrubber: LineScrubber?) {
        word = rules.word
        self.scrubber = scrubber
        delivery = LogDelivery(level: rules.level)
    }

    mutating func add(_ entry: LogEntry) {
        guard CaptureRules.takes(entry.level, word) else {
            delivery.filtered += 1
            return
        }
        let isRing = CaptureRules.isRing(entry.level, word)
        if isRing { delivery.ring += 1 } else { delivery.written += 1 }
        var fields = LineFields(
            category: entry.category, message: entry.message,
            fields: entry.metadata.map { LineFields.Field(key: $0.key, value: $0.value) }, leftOutBytes: entry.leftOutBytes)
        scrubber?.scrub(&fields)
        fields.body.withUnsafeBufferPointer { body in
            buffer.append(time: SystemClock.wallMicroseconds(), level: entry.level, isRing: isRing, category: body, message: nil)
        }
    }

    /// - Parameters:
    ///   - written, ring: lines of each that are with the kernel.
    ///   - failure: why the others are not.
    func delivery(written: UInt64, ring: UInt64, failure: LogStoreError?) -> LogDelivery {
        var delivery = delivery
        delivery.lost = delivery.written - written + delivery.ring - ring
        (delivery.written, delivery.ring) = (written, ring)
        guard delivery.lost > 0 else { return delivery }
        delivery.reason = failure?.message ?? "the log is being closed"
        delivery.isTransient = failure.map { $0.code == .diskFull || $0.code == .busy } ?? true
        return delivery
    }
}

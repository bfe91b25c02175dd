import WireModel

extension LogStore {
    /// Writes lines on the caller's thread, behind everything logged before, and tells what became of each: when this returns they are with the
    /// kernel, whatever their level. Waits for the disk.
    package func deliver(_ entries: [LogEntry]) -> LogDelivery {
        let (rules, scrubber) = capture
        var intake = LineIntake(rules: rules, scrubber: scrubber)
        for entry in entries { intake.add(entry) }
        let (written, ring, failure) = writer.deliver(intake.buffer)
        return intake.delivery(written: written, ring: ring, failure: failure)
    }
}

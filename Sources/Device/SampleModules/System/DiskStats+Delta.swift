import WireModel

extension DiskStats.Device {
    /// Has never done anything: an unused loop, memory or floppy device.
    var isIdleSinceBoot: Bool { reads == 0 && writes == 0 }

    /// What the device did since `earlier`; `nil` where it is another device of that name or a counter went back or wrapped.
    func activity(since earlier: DiskStats.Device) -> WireBlockDevice? {
        guard major == earlier.major, minor == earlier.minor, reads >= earlier.reads, writes >= earlier.writes,
            sectorsRead >= earlier.sectorsRead, sectorsWritten >= earlier.sectorsWritten,
            busyMilliseconds >= earlier.busyMilliseconds
        else { return nil }
        let readBytes = (sectorsRead - earlier.sectorsRead).multipliedReportingOverflow(by: DiskStats.sectorBytes)
        let writtenBytes = (sectorsWritten - earlier.sectorsWritten).multipliedReportingOverflow(by: DiskStats.sectorBytes)
        let busy = (busyMilliseconds - earlier.busyMilliseconds).multipliedReportingOverflow(by: 1_000)
        guard !readBytes.overflow, !writtenBytes.overflow, !busy.overflow else { return nil }
        var activity = WireBlockDevice()
        activity.name = name
        activity.reads = reads - earlier.reads
        activity.writes = writes - earlier.writes
        activity.readBytes = readBytes.partialValue
        activity.writtenBytes = writtenBytes.partialValue
        activity.busyMicroseconds = busy.partialValue
        return activity
    }
}

/// When a record was made, by the device's clocks.
package struct RecordStamp: Equatable, Sendable {
    /// The wall clock, microseconds since 1970-01-01T00:00:00Z; as wrong as the device's clock.
    package var wallTime: Int64
    /// `nil` where the system has none.
    package var bootID: BootID?
    /// Microseconds since boot, counting suspend.
    package var timeSinceBoot: UInt64

    package init(wallTime: Int64, bootID: BootID?, timeSinceBoot: UInt64) {
        self.wallTime = wallTime
        self.bootID = bootID
        self.timeSinceBoot = timeSinceBoot
    }
}

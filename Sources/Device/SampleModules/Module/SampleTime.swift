/// When a sample is taken, on both clocks. Taken once per wake-up and handed to every module that is due.
package struct SampleTime: Sendable, Equatable {
    /// Microseconds since 1970-01-01T00:00:00Z; may jump either way.
    package let wallMicroseconds: Int64
    /// Microseconds since the machine started, counting suspend; never goes back while it runs.
    package let sinceBootMicroseconds: UInt64

    package init(wallMicroseconds: Int64, sinceBootMicroseconds: UInt64) {
        self.wallMicroseconds = wallMicroseconds
        self.sinceBootMicroseconds = sinceBootMicroseconds
    }
}

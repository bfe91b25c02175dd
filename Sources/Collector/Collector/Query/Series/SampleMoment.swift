import WireModel

/// When and where a sample was taken, by the device's clocks.
struct SampleMoment: Equatable, Sendable {
    /// The wall clock: what puts a value into its bucket. As wrong as the device's clock.
    var time: Int64
    /// With the time since boot it tells how much time lies between two samples, however the wall clock was set in between.
    var bootID: BootID?
    /// Microseconds.
    var timeSinceBoot: UInt64
    var module: String
    var application: String
    /// The time since the sample before, where the sample says it: what its increases are over.
    var interval: UInt64?

    init(
        time: Int64, bootID: BootID?, timeSinceBoot: UInt64, module: String = "", application: String = "", interval: UInt64? = nil
    ) {
        self.time = time
        self.bootID = bootID
        self.timeSinceBoot = timeSinceBoot
        self.module = module
        self.application = application
        self.interval = interval
    }

    init(_ header: RecordHeader, interval: UInt64?) {
        self.init(
            time: header.wallTime, bootID: header.bootID, timeSinceBoot: header.timeSinceBoot, module: header.module,
            application: header.application, interval: interval)
    }
}

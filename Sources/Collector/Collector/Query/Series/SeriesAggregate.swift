/// What a bucket says of the values in it.
enum SeriesAggregate: String, CaseIterable, Sendable {
    case mean
    case min
    case max
    /// The latest by the device's clock.
    case last
    case count
    /// Of counters: how much they grew.
    case increase
    /// Of counters: growth a second, over the time that was watched.
    case rate
}

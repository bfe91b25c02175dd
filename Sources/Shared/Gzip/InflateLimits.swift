/// How much a stream may become, checked while it is inflated: at no time is there more output than this.
package struct InflateLimits: Sendable, Equatable {
    /// The most bytes of output, all members together; exactly that many are accepted.
    package var maximumBytes: Int
    /// The most bytes of output for each byte of input fed so far.
    package var maximumRatio: Int
    /// Up to this many bytes of output the ratio is not looked at: little bodies of equal records compress well and hurt nobody.
    package var ratioFloorBytes: Int

    /// The product's limits for bodies from devices.
    package static let standard = InflateLimits()

    package init(maximumBytes: Int = 20 << 20, maximumRatio: Int = 200, ratioFloorBytes: Int = 64 << 10) {
        self.maximumBytes = maximumBytes
        self.maximumRatio = maximumRatio
        self.ratioFloorBytes = ratioFloorBytes
    }
}

/// How far apart a module's samples are: 1 s to 366 days.
package struct SampleInterval: Sendable, Hashable {
    package static let least = 1.0
    /// Bounds the arithmetic; whoever wants fewer samples switches the module off.
    package static let greatest = 366.0 * 86_400

    package let microseconds: UInt64

    /// - Throws: `invalidInterval` for what is not finite or outside the bounds; never rounds up or down to them.
    package init(seconds: Double) throws(SampleModuleError) {
        guard seconds.isFinite, seconds >= Self.least, seconds <= Self.greatest else {
            throw SampleModuleError(
                code: .invalidInterval,
                message: "A sample interval of \(seconds) s is not possible; give \(Self.least) to \(Self.greatest) seconds.")
        }
        microseconds = UInt64((seconds * 1_000_000).rounded())
    }
}

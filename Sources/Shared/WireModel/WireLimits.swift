/// Sizes both ends keep to; the collector may be configured to lower or higher body limits.
package enum WireLimits {
    /// A serialized record: 256 KiB.
    package static let recordBytes = 256 * 1024
    /// Raw bytes of records in one batch part: 1 MiB.
    package static let partBytes = 1024 * 1024
    /// A request body as it travels: 4 MiB.
    package static let bodyBytes = 4 * 1024 * 1024
    /// The same inflated: 20 MiB.
    package static let inflatedBytes = 20 * 1024 * 1024
    /// Inflated over compressed: 200.
    package static let inflateRatio = 200
}

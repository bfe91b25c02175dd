import WireModel

/// Tells where the device is, for beacons: the port to whatever knows it. Asked only where position is allowed.
protocol LocationSource: Sendable {
    /// The last known position, at once; `nil`: none. Safe from any thread.
    func location() -> WireLocation?
}

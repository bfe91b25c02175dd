import WireModel

/// The device's clocks, injected.
package protocol RecordClock: Sendable {
    /// Cheap, and safe from any thread.
    func now() -> RecordStamp
}

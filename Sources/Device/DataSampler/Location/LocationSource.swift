/// Where positions come from: gpsd, or a receiver or service that the host program knows. Give one as
/// ``DataSamplerConfiguration/locationSource``.
///
/// It is asked only while somebody wants the location, and not while the person or the profile forbids it.
public protocol LocationSource: Sendable {
    /// What status and findings call it, such as `gpsd at 127.0.0.1:2947`. Holds no data of a person.
    var name: String { get }

    /// Says where the device is now.
    ///
    /// Called from any thread, never twice at a time, and at most once in a sample interval of whoever wants the
    /// location. The call is cancelled after 5 seconds and counts as lost then; a source that returns later is asked
    /// again only after that. A position from memory must not be given again: the answer is what the receiver
    /// determines now, or that it has no fix.
    func locate() async -> LocationObservation

    /// Nobody wants the location any more: a receiver may be switched off. Called from any thread, not during
    /// ``locate()``, and any number of times. The next ``locate()`` starts it again.
    func rest() async
}

extension LocationSource {
    /// Does nothing.
    public func rest() async {}
}

/// The answer of a receiver.
public enum LocationObservation: Equatable, Sendable {
    case fix(LocationFix)
    case lost(LocationLoss)

    var hasFix: Bool {
        switch self {
        case .fix: true
        case .lost: false
        }
    }
}

/// Why there is no position.
public struct LocationLoss: Equatable, Sendable {
    /// A text for people. Holds no data of a person.
    public var reason: String
    /// Whether a receiver is there. `true`: it has no fix, which is a fact to report. `false`: there is no receiver, or
    /// it cannot be asked, so that nothing is known.
    public var hasReceiver: Bool
    /// `nil`: the receiver does not say.
    public var satellites: LocationFix.Satellites?

    /// Nothing is checked here.
    public init(_ reason: String, hasReceiver: Bool, satellites: LocationFix.Satellites? = nil) {
        self.reason = reason
        self.hasReceiver = hasReceiver
        self.satellites = satellites
    }
}

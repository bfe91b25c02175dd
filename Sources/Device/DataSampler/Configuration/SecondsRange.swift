/// The allowed values of a setting in seconds; one place for the library and the command line.
package struct SecondsRange: Equatable, Sendable, CustomStringConvertible {
    package let least: Double
    package let greatest: Double

    /// Sample and transmit intervals: 1 s to 1 d.
    package static let interval = SecondsRange(least: 1, greatest: 86_400)
    /// How long events are held: 0 to 3 d.
    package static let eventHold = SecondsRange(least: 0, greatest: 259_200)
    /// The beacon schedule: 60 s to 1 d.
    package static let beacon = SecondsRange(least: 60, greatest: 86_400)
    /// The loss window of an ordinary record: 0 to 60 s.
    package static let lossWindow = SecondsRange(least: 0, greatest: 60)

    /// How long the collector may be out of reach before the host is told: 1 s to 366 d.
    package static let offline = SecondsRange(least: 1, greatest: 366 * 86_400)

    /// NaN and the infinities are in no range.
    package func contains(_ value: Double) -> Bool { value >= least && value <= greatest }

    package var description: String { "\(Self.text(least)) to \(Self.text(greatest)) seconds" }

    private static func text(_ value: Double) -> String { "\(Int(value))" }
}

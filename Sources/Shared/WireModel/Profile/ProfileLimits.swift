/// What a profile may hold. Ranges of numbers, and bounds on everything that has a size.
package enum ProfileLimits {
    /// Seconds between samples, and between transmissions: 1 s to 1 d.
    package static let intervalSeconds: ClosedRange<Double> = 1...86_400
    /// Seconds between beacons: 60 s to 1 d.
    package static let beaconSeconds: ClosedRange<UInt32> = 60...86_400
    /// Seconds an event is held: 0 to 3 d.
    package static let holdSeconds: ClosedRange<UInt32> = 0...259_200
    /// Seconds a device may be offline before the library says so: 0 (never says so) to 366 d.
    package static let offlineSeconds: ClosedRange<UInt32> = 0...31_622_400
    /// Ten-thousandths of a full battery.
    package static let batteryShare: ClosedRange<UInt32> = 0...10_000
    /// Ten-thousandths of one core; more than one core is possible, 0 is no budget.
    package static let cpuShare: ClosedRange<UInt32> = 0...10_000_000
    package static let radiusMeters: ClosedRange<Double> = 1...20_000_000

    /// Modules a profile may name, whether or not a device offers them; `callLog` is reserved and refused.
    package static let modules = ["system", "analytics", "networkData", "networkAdapter", "wlan2", "gps", "custom"]
    package static let transmissionData = ["status", "event", "sample", "log"]
    package static let complianceSubjects = ["application-version", "operating-system-version"]
    package static let complianceOperators = ["<", "<=", "=", "!=", ">=", ">"]
    /// Classes of fields whose handling a profile decides.
    package static let privacyClasses = Set(FieldClass.decidable.map(\.rawValue))

    static let transmissionRules = 64
    static let complianceRules = 256
    static let geofences = 256
    static let pins = 32
    package static let scrubs = 256
    package static let scrubBytes = 1024
    /// Of an organization's, application's or action's name.
    static let nameBytes = 255
    static let idBytes = 64
    static let payloadBytes = 256 * 1024
    /// SHA-256.
    static let digestBytes = 32
}

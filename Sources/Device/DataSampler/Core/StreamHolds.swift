import RecordQueue
import Transmitter
import WireModel

/// The reasons that keep records on the device although they were made, stream by stream. Pure.
///
/// The transmitter does not ask the queue for a held stream: its records have their numbers, wait under the queue's own
/// caps, and go in their order once nothing holds them. Network, battery and the rules of the profile come after
/// (`TransmissionGate`), and the hold of events, which counts from when each was made, comes last.
struct StreamHolds: Equatable, Sendable {
    /// The device was unenrolled, or the application has suspended it and no command was answered since.
    var isPaused = false
    /// Telemetry is switched off, or the application has suspended it. Status answers commands; nothing else goes.
    var isOff = false
    /// Do-not-disturb, or `paused` while the device is being unenrolled; `nil`: neither.
    var quiet: TransmissionGate.Reason?
    var awaits: AwaitedDecisions = []

    /// - Returns: `nil`: nothing holds it.
    func reason(_ stream: StreamName) -> TransmissionGate.Reason? {
        if isPaused { return .paused }
        // Status shows that the device lives, and distinguishes a refusal from a dead device.
        guard stream != .status else { return nil }
        if isOff { return .paused }
        if let quiet { return quiet }
        if awaits.contains(.consent) { return .consent }
        return stream == .event && awaits.contains(.firstProfile) ? .firstProfile : nil
    }

    var reasons: [StreamName: TransmissionGate.Reason] { StreamName.allCases.reduce(into: [:]) { $0[$1] = reason($1) } }
}

/// Decisions that records wait for.
struct AwaitedDecisions: OptionSet, Sendable {
    let rawValue: Int

    /// The person has not decided, a decision is being carried out, or a denial is not carried out yet.
    static let consent = Self(rawValue: 1)
    /// No profile has said yet whether events may be recorded, or what it refuses is not dropped yet.
    static let firstProfile = Self(rawValue: 2)
}

/// Events that wait for the first profile, which says whether they may be recorded at all. Pure.
struct EarlyEvents: Equatable, Sendable {
    static let maximumRecords: UInt64 = 1_000
    static let maximumBytes: UInt64 = 1 << 20

    var records: UInt64 = 0
    var bytes: UInt64 = 0

    func hasRoom(for size: Int) -> Bool { records < Self.maximumRecords && bytes + UInt64(size) <= Self.maximumBytes }

    mutating func add(_ size: Int) {
        records += 1
        bytes += UInt64(size)
    }
}

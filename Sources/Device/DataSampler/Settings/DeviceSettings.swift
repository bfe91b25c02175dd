import FoundationEssentials
import SampleModules
import WireModel

/// The settings in force. A value, made by `resolve` alone, so that no part of the library can read a layer by itself.
///
/// Precedence: compiled defaults < local (code, file, flags, environment) < profile < explicit call. *Disable*, *Wi-Fi only* and privacy are
/// the tighter of local and profile, whichever says so.
struct DeviceSettings: Equatable, Sendable {
    /// The layer that said a setting.
    enum Source: String, Codable, Sendable {
        case compiled = "default"
        case local
        case profile
        case call
        /// A command of the collector, for a while.
        case command
    }

    struct Logging: Equatable, Sendable {
        var enabled = true
        var level = WireLogLevel.information
        /// Logs wait for Wi-Fi or a wired network.
        var wifiOnly = false
        var scrubValues: [String] = []
        var scrubPatterns: [String] = []
    }

    /// What explicit calls have said, and commands for a while.
    struct Calls: Equatable, Sendable {
        enum Beacons: Equatable, Sendable {
            /// Nothing was called: profile or configuration schedule.
            case unsaid
            /// Seconds.
            case every(Double)
            case stopped
        }

        var beacons = Beacons.unsaid
        /// Until the command's time is over.
        var logLevel: WireLogLevel?
    }

    /// 0: no profile.
    var profileRevision: UInt64 = 0
    /// Whether a profile is at hand, fetched now or the last good one from disk: without one, no events (ws1).
    var profileChecked = false
    var telemetryDisabled = false
    /// What is sampled, by bit; `custom` stands for all that are registered and not disabled by name.
    var modules: [SampleModuleName] = []
    /// Modules asked for and not sampled, and why.
    var unavailable: [String: String] = [:]
    /// Custom modules that stay off.
    var disabledCustomModules: Set<String> = []
    /// Seconds, of the modules sampled; `custom` is the default of custom modules.
    var sampleIntervals: [SampleModuleName: Double] = [:]
    /// Seconds, of custom modules by name where somebody said it.
    var customIntervals: [String: Double] = [:]
    var transmitInterval: Duration = .seconds(300)
    /// Of modules that are sampled and have one of their own, by name.
    var moduleTransmitIntervals: [String: Duration] = [:]
    var analyticsEnabled = true
    var eventHold: Duration = .seconds(7200)
    /// Seconds between two beacons; `nil`: no schedule.
    var beaconInterval: Double?
    var privacy = PrivacyPolicy()
    /// Keys the hashes of personal fields; empty: what would be hashed is dropped.
    var privacyKey = Data()
    var transmission: [WireTransmissionRule] = []
    var compliance: [WireComplianceRule] = []
    /// Seconds without the collector after which the host is told; `nil`: never.
    var offlineTimeAllowed: Double?
    /// How old the device's credential becomes; `nil`: as old as it may.
    var credentialLifetime: Duration?
    var doNotDisturbAllowed = false
    /// SHA-256 of public keys of which the collector's certificate must hold one; empty: none asked for.
    var pins: [Data] = []
    /// Raw text for the host (ws1).
    var customPayload: String?
    var test = false
    var logging = Logging()
    var budgets = DataSamplerBudgets()
    /// Which layer said it, by setting, for people.
    var sources: [String: Source] = [:]
}

import FoundationEssentials
import WireModel

/// What a collector says beside the marks, on every decided answer.
package struct CollectorNews: Equatable, Sendable {
    /// Newest revision of this device's profile; above the one that runs: fetch it.
    package var newestProfileRevision: UInt64
    /// Repeated until their final state is reported.
    package var commands: [WireCommand]
    /// The collector's clock, microseconds since 1970; 0 where it did not say. Noted, never a reason to refuse anything.
    package var serverTime: Int64
    /// The enrollment the request was sent under, 16 bytes; empty where the collector gave none. Commands belong to it.
    package var enrollmentID: Data

    package init(newestProfileRevision: UInt64, commands: [WireCommand] = [], serverTime: Int64 = 0, enrollmentID: Data = Data()) {
        self.newestProfileRevision = newestProfileRevision
        self.commands = commands
        self.serverTime = serverTime
        self.enrollmentID = enrollmentID
    }
}

import FoundationEssentials
import WireModel

/// What commands can do to the device: the port between the runner, which keeps the books, and the sampler.
///
/// Each is harmless when it is done twice.
protocol CommandActions: Sendable {
    func sendBeacon() async throws(DataSamplerError)
    func deviceInformation() async -> WireDeviceInformation
    func reloadProfile() async -> ProfileKeeper.Outcome
    /// - Parameter level: `nil`: back to what the profile says.
    func changeLogLevel(_ level: WireLogLevel?) async
    /// Begins to gather and upload logs, or finds that it has begun; `CommandRunner.heard` is told how it goes on.
    func requestLogs(command: Data, _ request: WireRequestLogs) async throws(DataSamplerError)
    /// Harmless where the command asked for no logs, or has ended.
    func cancelLogs(command: Data) async
    /// Returns once everything is erased. The result may be recorded then; producers stay stopped until `wipeWasReported`.
    func wipe(command: Data, reason: String) async throws(DataSamplerError)
    /// The command whose wipe is noted on disk and has not been finished; `nil`: none is.
    func wipeUnderWay() async -> Data?
    func wipeWasReported() async throws(DataSamplerError)
    /// Something was recorded that should be seen soon.
    func transmitNow()
}

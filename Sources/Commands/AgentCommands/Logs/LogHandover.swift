import ControlSocket
import DataSampler
import FoundationEssentials
import LogStore
import WireModel

/// Hands lines to the agent that runs in a directory, or writes them into its log store where none runs. Not `Sendable`: one task.
final class LogHandover {
    private let access: DeviceAccess
    /// Opened when no agent was found.
    private var offline: OfflineLogs?
    private(set) var total: LogDelivery?

    init(_ access: DeviceAccess) { self.access = access }

    /// - Throws: what stopped it; some of the lines may be in the log.
    func deliver(_ entries: [LogEntry]) async throws(AgentError) {
        guard !entries.isEmpty else { return }
        let delivery = try await delivery(of: entries)
        if total == nil { total = delivery } else { total? += delivery }
        guard delivery.lost > 0 else { return }
        let written = (total?.written ?? 0) + (total?.ring ?? 0)
        throw AgentError(
            delivery.isTransient ? .tryAgain : .failed,
            "\(written) lines were logged, \(delivery.lost) could not be: \(delivery.reason ?? "no reason is known")")
    }

    private func delivery(of entries: [LogEntry]) async throws(AgentError) -> LogDelivery {
        if let offline { return offline.deliver(entries) }
        var request = WireControlRequest()
        request.log.lines = entries.map(\.wire)
        if let answer = try await access.askIfRunning(request) { return try StatusCommand.decode(LogDelivery.self, answer.json) }
        do throws(DataSamplerError) {
            let store = LogStore.Configuration(access.configuration, applicationName: "", applicationVersion: "")
                .directory
            let isNew = !FileManager.default.fileExists(atPath: store)
            let logs = try OfflineLogs(access.configuration)
            if isNew {
                StandardStreams.error(
                    "ws1agent: no agent runs in \(access.configuration.directory), and there was no log: \(store) was made"
                )
            }
            offline = logs
            return logs.deliver(entries)
        } catch {
            throw AgentError(error)
        }
    }
}

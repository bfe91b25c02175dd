import CollectorTunables
import Logging
import RecordStore
import Registry
import WireModel

/// Works jobs over many devices off, in turn, beside the server.
///
/// It keeps nothing: what is left to do is on disk. A job that a crash or the end of the process cut short goes on
/// where it was.
package struct DeviceJobWorker: Sendable {
    private let metadata: MetadataService
    private let logger: Logger

    package init(metadata: MetadataService, logger: Logger) {
        self.metadata = metadata
        self.logger = logger
    }

    /// Runs until the task is cancelled.
    package func run(on clock: some Clock<Duration>) async {
        var (pauses, pause) = (0, Tunables.DeviceJobs.pause)
        while !Task.isCancelled {
            do throws(StoreError) {
                if pauses % Tunables.DeviceJobs.pausesPerRemoval == 0 {
                    while try await metadata.removeOldDeviceJobs() {}
                }
                pause = Tunables.DeviceJobs.pause
                while try await pass(), !Task.isCancelled {}
            } catch {
                logger.warning("a job over devices waits", metadata: ["store.error": "\(error)"])
                pause = min(pause * 2, Tunables.DeviceJobs.longestPause)
            }
            pauses += 1
            do { try await clock.sleep(for: pause) } catch { return }
        }
    }

    /// Does a few devices of each running job.
    /// - Returns: whether some job can go on at once.
    /// - Throws: the last error. One job that cannot go on stops no other.
    package func pass() async throws(StoreError) -> Bool {
        var (goesOn, failure) = (false, StoreError?.none)
        for job in try await metadata.runningDeviceJobs() {
            do throws(StoreError) {
                switch try await metadata.workOff(deviceJob: job, explaining: { Problem.ofDeviceJob($0) }) {
                case .goesOn: goesOn = true
                case .waits: break
                case .ended(let job): report(job)
                }
            } catch { failure = error }
        }
        if !goesOn, let failure { throw failure }
        return goesOn
    }

    private func report(_ job: DeviceJobRow) {
        logger.notice(
            "device job ended",
            metadata: [
                "job.id": "\(job.id)", "job.action": "\(job.action.kind.rawValue)", "job.state": "\(job.state.name)",
                "job.devices": "\(job.devices)", "job.done": "\(job.done)", "job.refused": "\(job.refused)",
            ])
    }
}

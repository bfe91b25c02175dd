import SampleModules
import Transmitter

extension DataSampler {
    /// What it does and what it keeps, as of now; rows are counted.
    ///
    /// - Throws: `notRunning`, `queue`.
    public func status() async throws(DataSamplerError) -> DataSamplerStatus {
        let running = try running()
        let reports = await running.loop.reports
        let modules = reports.sorted { $0.key.bit < $1.key.bit }.map { name, report in
            DataSamplerStatus.Module(
                name: name.rawValue,
                sampleInterval: running.core.settings.sampleIntervals[name] ?? 0,
                samples: report.samples, lastSample: report.lastSample, reason: report.reason)
        }
        let interval = await running.loop.beacons.interval.map { Double($0) / 1_000_000 }
        return try await running.core.status(transmitter: running.transmitter.status, modules: modules, beaconInterval: interval)
    }

    /// Where every record is, from counted rows; what is still in the writer's memory is written first.
    ///
    /// - Throws: `notRunning`, `queue`, `queueFull`.
    public func balance() async throws(DataSamplerError) -> DataSamplerBalance {
        try await (try running()).core.balance()
    }
}

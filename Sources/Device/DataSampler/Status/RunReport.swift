import SampleModules
import Transmitter

/// What a running data sampler adds to what its directory tells.
struct RunReport: Sendable {
    var transmitter: TransmitterStatus
    var modules: [DataSamplerStatus.Module]
    /// Seconds.
    var beaconInterval: Double?
    var profile: ProfileKeeper.Report
    var commands: CommandRunner.Report
    var wipe: WipeNote?
    var isDoNotDisturb: Bool
    var isSuspended: Bool
    var slowdown: Double
    var slowdownReason: String?
}

extension DeviceController {
    func report() async throws(DataSamplerError) -> RunReport {
        guard let parts else { throw DeviceLoop.stopped }
        let plan = await parts.loop.plan
        let reports = await parts.loop.reports
        let modules = plan.intervals.sorted { $0.key < $1.key }.map { module, interval in
            let report = reports[module] ?? DeviceLoop.ModuleReport()
            var isCustom = false
            if case .custom = module { isCustom = true }
            return DataSamplerStatus.Module(
                name: module.name, isCustom: isCustom, sampleInterval: Double(interval.microseconds) / 1_000_000, samples: report.samples,
                lastSample: report.lastSample, reason: report.reason)
        }
        return RunReport(
            transmitter: parts.transmitter.status, modules: modules,
            beaconInterval: await parts.loop.beacons.interval.map { Double($0) / 1_000_000 }, profile: await parts.profiles.report,
            commands: await parts.commands.report, wipe: await parts.wipes.pending, isDoNotDisturb: isDoNotDisturb, isSuspended: isPaused,
            slowdown: slowdownFactor, slowdownReason: budgets.verdict.reason == nil ? nil : budgets.verdict.description)
    }
}

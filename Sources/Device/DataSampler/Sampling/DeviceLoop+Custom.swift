import RecordQueue
import SampleModules
import WireModel

extension DeviceLoop {
    /// One call of a custom module that has not returned.
    struct CustomRun: Sendable {
        var number: UInt64
        var task: Task<Void, Never>
        /// Since boot, microseconds.
        var deadline: UInt64
        var isOverdue = false
    }

    /// As the protocol's documentation promises.
    static var customLimitMicroseconds: UInt64 { 30_000_000 }

    var nextCustomDeadline: UInt64? { customRuns.values.filter { !$0.isOverdue }.map(\.deadline).min() }

    /// Calls the module beside the loop. A task of its own on purpose: one that never returns, cancelled or not, must not hold a stop up.
    func startCustom(_ name: String, at stamp: RecordStamp) {
        guard let module = customModules[name] else { return }
        guard customRuns[name] == nil else {
            return failed(name, "its last call has not returned yet")
        }
        lastCustomRun += 1
        let number = lastCustomRun
        let task = Task {
            let result: Result<[SampleMeasurement], any Error>
            do { result = .success(try await module.sample()) } catch { result = .failure(error) }
            await self.customEnded(name, number, result, at: stamp)
        }
        customRuns[name] = CustomRun(number: number, task: task, deadline: stamp.timeSinceBoot + Self.customLimitMicroseconds)
    }

    func cancelOverdueCustom(now: UInt64) {
        for (name, run) in customRuns where !run.isOverdue && run.deadline <= now {
            customRuns[name]?.isOverdue = true
            run.task.cancel()
            failed(name, "it took longer than 30 s and was cancelled")
        }
    }

    private func customEnded(
        _ name: String, _ number: UInt64, _ result: Result<[SampleMeasurement], any Error>, at stamp: RecordStamp
    ) async {
        guard let run = customRuns[name], run.number == number else { return }
        customRuns[name] = nil
        measured(name, since: stamp)
        guard !run.isOverdue, !hasEnded else { return }
        switch result {
        case .success(let measurements) where measurements.isEmpty: note(.custom(name), "it had nothing to measure")
        case .success(let measurements):
            do throws(DataSamplerError) {
                let sample = try CustomSample(module: name, measurements: measurements)
                await keep(Sample(kind: .sampleCustom, module: name, body: sample.body), of: .custom(name), at: stamp)
            } catch {
                failed(name, error.message)
            }
        case .failure(let error): failed(name, "it failed: \(error)")
        }
    }

    private func failed(_ name: String, _ reason: String) {
        guard note(.custom(name), reason) else { return }
        core.notices.post(DataSamplerNotice(.moduleFailed, "custom module \(name): \(reason)", ["module": name]))
    }
}

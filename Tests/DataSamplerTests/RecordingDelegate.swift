import DataSampler
import Synchronization

/// Keeps the notices that it receives.
final class RecordingDelegate: DataSamplerDelegate {
    private let notices = Mutex<[DataSamplerNotice]>([])

    func dataSampler(_ sampler: DataSampler, noticed notice: DataSamplerNotice) async {
        notices.withLock { $0.append(notice) }
    }

    /// The notices of these kinds, in their order.
    func reported(_ kinds: DataSamplerNotice.Kind...) -> [DataSamplerNotice] {
        notices.withLock { $0.filter { kinds.contains($0.kind) } }
    }
}

import DataSampler
import TestKit

/// Keeps the notices that it receives.
final class RecordingDelegate: DataSamplerDelegate {
    private let notices = Watched<[DataSamplerNotice]>([])

    func dataSampler(_ sampler: DataSampler, noticed notice: DataSamplerNotice) async {
        notices.change { $0.append(notice) }
    }

    /// The notices of these kinds, in their order.
    func reported(_ kinds: DataSamplerNotice.Kind...) -> [DataSamplerNotice] {
        notices.value.filter { kinds.contains($0.kind) }
    }

    /// Returns once there is a notice of one of these kinds.
    func untilReported(_ kinds: DataSamplerNotice.Kind...) async throws {
        try await notices.until { $0.contains { kinds.contains($0.kind) } }
    }

    /// Returns once there are so many notices of a kind.
    func untilReported(_ count: Int, _ kind: DataSamplerNotice.Kind) async throws {
        try await notices.until { notices in notices.count { $0.kind == kind } == count }
    }
}

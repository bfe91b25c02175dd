import StoreTestKit
import TestKit
import Testing
import Transmitter

@testable import DataSampler

/// What the host hears of the enrollment, both as a delegate and in the sequence of notices.
@Suite(.timeLimit(.minutes(10))) struct EnrollmentNoticeTests {
    @Test func `The host gets one notice when the device is enrolled, and one when it is unenrolled`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let delegate = RecordingDelegate()
        let sampler = try bench.sampler(directory.path, delegate: delegate)
        let notices = sampler.notices
        try await sampler.start()
        try await delegate.untilReported(.enrolled)
        #expect(delegate.reported(.unenrolled).isEmpty)
        _ = try await sampler.unenroll()
        try await delegate.untilReported(.unenrolled)
        await sampler.stop()
        let reported = delegate.reported(.enrolled, .unenrolled)
        #expect(reported.map(\.kind) == [.enrolled, .unenrolled])
        #expect(reported.first?.details == ["device": "\(bench.collector.device)"])
        var heard: [DataSamplerNotice] = []
        for await notice in notices where [.enrolled, .unenrolled].contains(notice.kind) {
            heard.append(notice)
            if heard.count == 2 { break }
        }
        #expect(heard == reported)
    }
}

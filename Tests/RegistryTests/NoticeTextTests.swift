import Testing
import WireModel

@testable import RecordStore
@testable import Registry

/// What notices say about one of something.
@Suite struct NoticeTextTests {
    @Test func `One record is not many records`() {
        let device = DeviceID(high: 1, low: 2)
        let lost = DeviceIncident(.recordsLost, device: device, stream: .event)
        #expect(lost.detail(1, [.event]).hasPrefix("1 record of the event stream cannot"))
        #expect(lost.detail(2, [.event]).hasPrefix("2 records of the event stream cannot"))
        let damaged = DeviceIncident(.damagedOnDevice, device: device, stream: .sample)
        let detail = damaged.detail(1, [.event, .sample])
        #expect(detail.hasPrefix("1 record of the event and sample streams got lost"), "\(detail)")
    }

    @Test func `One device is not many devices`() {
        #expect(SilencePlan.detail(ofMany: 1).hasPrefix("Also silent: 1 device."))
        #expect(SilencePlan.detail(ofMany: 7).hasPrefix("Also silent: 7 devices."))
    }
}

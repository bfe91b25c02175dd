import Foundation
import MQTTClient
import Testing
import WireModel

@testable import MQTTIntake

@Suite("What is known of connections to the broker")
struct BrokerDevicesTests {
    private let devices = BrokerDevices()
    private let id = DeviceID(high: 1, low: 2)
    private let device = MessagingDevice(name: "kiosk-7", bearer: nil)

    @discardableResult
    private func hear(
        _ word: String, _ connection: String, reason: String? = nil, retained: Bool = false, at now: Int64 = 5,
        of device: MessagingDevice? = nil
    ) -> Bool {
        let device = device ?? self.device
        var message = device.state(word, connection: connection, device: id, reason: reason)
        message.isRetained = retained
        return devices.heard(message, of: device.name, at: now)
    }

    @Test func `A connection is shown once its device has proved itself under the name`() {
        hear("online", "1")
        #expect(devices.connection(of: id) == nil)
        devices.proved("another", id)
        #expect(devices.connection(of: id) == nil)
        devices.proved("kiosk-7", id)
        #expect(devices.connection(of: id) == .init(name: "kiosk-7", state: .connected, since: 5))
        hear("offline", "1", reason: "lost", at: 9)
        #expect(devices.connection(of: id) == .init(name: "kiosk-7", state: .lost, since: 9))
        hear("online", "2", at: 11)
        hear("offline", "2", reason: "stopped", at: 12)
        #expect(devices.connection(of: id)?.state == .stopped)
    }

    @Test func `The end of a connection that was taken over does not end the new one`() {
        devices.proved("kiosk-7", id)
        hear("online", "1")
        hear("online", "2")
        hear("offline", "1", reason: "lost")
        #expect(devices.connection(of: id)?.state == .connected)
        #expect(devices.names(of: id) == ["kiosk-7"])
        #expect(devices.counts.online == 1 && devices.counts.offline == 0)
    }

    @Test func `A retained state says nothing of when it began`() {
        devices.proved("kiosk-7", id)
        hear("offline", "1", reason: "lost", retained: true)
        #expect(devices.connection(of: id) == .init(name: "kiosk-7", state: .lost, since: nil))
        // The same state again is no change.
        hear("offline", "1", reason: "lost", at: 20)
        #expect(devices.connection(of: id)?.since == nil)
    }

    @Test func `News go to the newest names of a device that are online`() {
        for number in 1...6 { hear("online", "\(number)", of: MessagingDevice(name: "n\(number)", bearer: nil)) }
        hear("offline", "5", of: MessagingDevice(name: "n5", bearer: nil))
        #expect(devices.names(of: id) == ["n6", "n4", "n3", "n2"])
        #expect(devices.onlineDevices == [id])
        #expect(devices.names(of: DeviceID(high: 9, low: 9)).isEmpty)
    }

    @Test func `An empty state forgets the name, and what is no state is not taken`() {
        devices.proved("kiosk-7", id)
        hear("online", "1")
        #expect(devices.heard(MQTTMessage(topic: "t"), of: "kiosk-7", at: 6))
        #expect(devices.connection(of: id) == nil && devices.counts.online + devices.counts.offline == 0)
        #expect(!hear("asleep", "1"))
        #expect(!devices.heard(MQTTMessage(topic: "t", payload: Data("online".utf8)), of: "kiosk-7", at: 6))
    }
}

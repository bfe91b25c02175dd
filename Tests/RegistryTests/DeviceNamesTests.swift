import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct DeviceNamesTests {
    /// More than one statement reads; the last one is not full.
    @Test func `Names come for every device that has one, however many are asked for`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualStoreClock()
        let (metadata, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        let token = try await metadata.createEnrollmentToken(organization: "default", maximumUses: nil).token
        var expected: [DeviceID: String] = [:]
        var asked: Set<DeviceID> = [.random()]
        for number in 0..<130 {
            var request = WireEnrollRequest()
            request.deviceName = number == 0 ? "" : "kiosk-\(number)"
            let device = try await metadata.enroll(token: token, request: request).deviceID
            asked.insert(device)
            if number > 0 { expected[device] = request.deviceName }
        }
        let renamed = try #require(expected.keys.first)
        var beacon = WireBeacon()
        beacon.deviceName = "lobby"
        metadata.seen(renamed, DeviceObservation(at: clock.now(), beacon: beacon))
        expected[renamed] = "lobby"

        #expect(try await metadata.names(of: asked) == expected)
        #expect(try await metadata.names(of: [renamed]) == [renamed: "lobby"])
        #expect(try await metadata.names(of: []).isEmpty)
        // A full statement and nothing after it.
        let hundred = Set(expected.keys.prefix(100))
        #expect(try await metadata.names(of: hundred) == expected.filter { hundred.contains($0.key) })
        await metadata.close()
    }
}

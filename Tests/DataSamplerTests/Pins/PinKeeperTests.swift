import Foundation
import Logging
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite struct PinKeeperTests {
    private static func settings(_ revision: UInt64, pins: [Data]) -> DeviceSettings {
        var profile = WireProfile()
        profile.revision = revision
        profile.certificatePins = pins
        let local = DataSamplerConfiguration(directory: "/nonexistent", collectorURL: "https://collector.test")
        return DeviceSettings.resolve(local: local, profile: profile)
    }

    @Test func `What is reported of pins names the revision of their profile, also before that is applied`() throws {
        let directory = try TemporaryDirectory()
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let keeper = try PinKeeper(directory: directory.path, logger: quiet) { _ in }
        let (first, second) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
        keeper.apply(Self.settings(1, pins: [first]))
        keeper.arrived([second], revision: 2, key: first)
        // The device's loop may wake here, while the settings are still those of revision 1.
        let refused = keeper.drainChanges()
        #expect(refused.map(\.change) == [.refused] && refused.map(\.revision) == [2])

        keeper.apply(Self.settings(2, pins: [second]))
        keeper.connected(to: second)
        let taken = keeper.drainChanges()
        #expect(taken.map(\.change) == [.applied] && taken.map(\.revision) == [2])
    }
}

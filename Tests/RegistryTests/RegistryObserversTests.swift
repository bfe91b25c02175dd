import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct RegistryObserversTests {
    @Test func `An observer hears of a command when its device can get it, and of a profile`() async throws {
        let (directory, clock) = (try TemporaryDirectory(), ManualStoreClock())
        let (metadata, created) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        var request = WireEnrollRequest()
        request.deviceName = "kiosk"
        let enrolled = try await metadata.enroll(token: try #require(created).enrollmentToken, request: request)
        let device = try #require(try await metadata.device(enrolled.deviceID, organization: nil))

        // What the device would be given at the moment of each news.
        let heard = Watched<[(RegistryNews, commands: Int)]>([])
        metadata.observers.add { [weak metadata] news in
            let open = metadata?.openCommands(of: device, at: clock.now()).count ?? 0
            heard.change { $0.append((news, open)) }
        }
        let new = NewCommand(
            device: device.id, action: .sendBeacon(.init()), expires: clock.now() + 60_000_000, issuer: .commandLine,
            idempotencyKey: nil, request: Data())
        _ = try await metadata.issue(new, organization: nil)
        let commands = RegistryNews.changes([.commands(device.id)])
        #expect(heard.value.contains { $0.0 == commands && $0.commands == 1 })

        _ = try await metadata.putProfile(
            WireProfile(), ProfileScope(organization: "default"), expected: nil, by: .commandLine)
        #expect(heard.value.contains { $0.0 == .changes([.profile(organization: "default")]) })

        let count = heard.value.count
        try metadata.apply(.changes([]), from: try metadata.registry.openReading())
        #expect(heard.value.count == count, "nothing has changed")
        try metadata.apply(commands, from: try metadata.registry.openReading())
        #expect(heard.value.count == count + 1, "another collector's change")
        await metadata.close()
    }
}

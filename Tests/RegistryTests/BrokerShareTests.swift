import RegistryTestKit
import StoreTestKit
import TestKit
import Testing

@testable import Registry

@Suite(.eachRegistry) struct BrokerShareTests {
    @Test func `All collectors of a registry share under one name, which no other registry has`() async throws {
        let (one, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        let (first, _) = try TestRegistry.open(directory: one.path, clock: ManualStoreClock(), logger: quietLogger)
        let share = try await first.brokerShare()
        #expect(share.count == 32)
        #expect(try await first.brokerShare() == share)
        let (stranger, _) = try MetadataService.open(
            directory: other.path, clock: ManualStoreClock(), logger: quietLogger)
        #expect(try await stranger.brokerShare() != share)
        await first.close()
        await stranger.close()
    }
}

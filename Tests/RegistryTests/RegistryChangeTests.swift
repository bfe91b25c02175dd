import Foundation
import StoreTestKit
import Testing
import WireModel

@testable import Registry

@Suite struct RegistryChangeTests {
    private static func device(_ number: Int) -> DeviceID { DeviceID(high: 1, low: UInt64(number)) }

    @Test func `What was written is read`() {
        var changes: Set<RegistryChange> = [.profile(organization: "é ' 1"), .deviceJobs, .commands(Self.device(0))]
        for number in 0..<3000 { changes.insert(.observation(Self.device(number))) }
        for number in 0..<3 { changes.insert(.device(Self.device(number))) }
        let rows = RegistryChange.rows(of: changes)
        #expect(RegistryChange.news(of: rows) == .changes(changes))
        #expect(rows.count == 7, "devices share rows")
        #expect(rows.allSatisfy { $0.key.count <= 16_384 })
    }

    @Test func `No change is no row`() {
        #expect(RegistryChange.rows(of: []).isEmpty)
        #expect(RegistryChange.news(of: []) == .changes([]))
    }

    @Test(arguments: [
        RegistryChange.Row(kind: "later", key: Data()), RegistryChange.Row(kind: "device", key: Data(count: 17)),
    ])
    func `What cannot be read may be anything`(row: RegistryChange.Row) {
        let known = RegistryChange.Row(kind: "profile", key: Data("a".utf8))
        #expect(RegistryChange.news(of: [known, row]) == .everything)
    }
}

@Suite struct RegistryLeaseTests {
    private let clock = ManualStoreClock()

    @Test func `It ends two seconds after the read began`() {
        let lease = RegistryLease(clock: ManualBootClock(clock))
        #expect(!lease.isValid, "nothing has been read yet")
        let begin = lease.now()
        // The read takes a second.
        clock.advance(seconds: 1)
        lease.renew(from: begin)
        #expect(lease.isValid)
        clock.advance(seconds: 1)
        #expect(!lease.isValid)
        lease.renew(from: lease.now())
        #expect(lease.isValid)
        // An earlier read that ends late shortens nothing.
        lease.renew(from: begin)
        #expect(lease.isValid)
    }

    @Test func `The only collector has a lease without end`() {
        #expect(RegistryLease(clock: nil).isValid)
    }

    @Test func `Without a lease, a cache has no rows`() {
        let lease = RegistryLease(clock: ManualBootClock(clock))
        let cache = MetadataCache<String, Int, String>(limit: 10, lease: lease) { key, _ in key }
        cache.insert(1, for: "a", readAt: cache.generation)
        #expect(cache["a"] == nil)
        lease.renew(from: lease.now())
        #expect(cache["a"] == 1)
        clock.advance(seconds: 2)
        #expect(cache["a"] == nil)
    }
}

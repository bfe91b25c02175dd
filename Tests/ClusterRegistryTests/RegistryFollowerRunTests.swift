import ClusterRegistry
import CollectorTunables
import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import Testing
import WireModel

/// Followers that run, with the machine's time.
@Suite(.timeLimit(.minutes(5))) struct RegistryFollowerRunTests {
    private static let lease: Duration = .seconds(2)

    /// Calls `accepts` until it returns false.
    /// - Returns: whether each call that began later than a lease after this one returned false.
    private func endsWithinTheLease(_ accepts: () async throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + Self.lease
        var isLate = false
        let ends = try await eventually(within: .seconds(60)) {
            let begin = ContinuousClock.now
            if try await !accepts() { return true }
            isLate = isLate || begin >= end
            return isLate
        }
        return ends && !isLate
    }

    private func running(
        _ cluster: TestCluster, every interval: Duration = Tunables.Cluster.followInterval,
        _ body: @escaping () async throws -> Void
    ) async throws {
        let follower = cluster.second.follower
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await follower.run(every: interval) }
            do { try await body() } catch { Issue.record("\(error)") }
            group.cancelAll()
        }
        await cluster.stop()
    }

    /// Its next read without a notification would come in an hour.
    @Test func `A notification makes a change known at once`() async throws {
        // The second collector's lease has the manual time, so it does not end.
        let cluster = try await TestCluster.start(on: .shared())
        let service = cluster.second.service
        try await running(cluster, every: .seconds(3600)) {
            let device = try await cluster.enroll()
            #expect(try await eventually { service.lease.isValid })
            // The listener has to listen before the change.
            #expect(
                try await eventually {
                    try await cluster.database.sql(
                        """
                        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'
                        """) == ["1"]
                })
            _ = try await service.device(of: device.credential)
            _ = try await cluster.first.service.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
            #expect(
                try await eventually {
                    try await service.authenticateDevice(credential: device.credential) == .revoked
                })
        }
    }

    @Test func `A change counts within the lease without notifications`() async throws {
        let server = try await PostgresServer.shared()
        let proxy = try PostgresProxy(to: server)
        // The listener believes that it listens soon, and hears nothing.
        proxy.onStatement("LISTEN \"registry_change\"", .holdAnswer)
        let cluster = try await TestCluster.start(on: server, proxy: proxy, clock: SystemBootClock())
        let service = cluster.second.service
        try await running(cluster) {
            let device = try await cluster.enroll()
            #expect(try await eventually { proxy.faultCount == 1 && service.lease.isValid })
            let row = try await service.device(of: device.credential)
            let command = try await cluster.first.service.issueBeacon(to: device.deviceID).command
            #expect(try await eventually { service.openCommands(of: row, at: SystemTime().now()) == [command] })
            _ = try await cluster.first.service.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
            #expect(
                try await endsWithinTheLease {
                    try await service.authenticateDevice(credential: device.credential) != .revoked
                })
        }
    }

    /// All of its connections are cut with each change. It connects again.
    @Test func `A change counts within the lease, although connections are cut`() async throws {
        let server = try await PostgresServer.shared()
        let proxy = try PostgresProxy(to: server)
        let cluster = try await TestCluster.start(on: server, proxy: proxy, clock: SystemBootClock())
        let service = cluster.second.service
        try await running(cluster) {
            for _ in 0..<3 {
                let device = try await cluster.enroll()
                #expect(try await eventually { service.lease.isValid })
                _ = try await service.device(of: device.credential)
                proxy.cutAll()
                _ = try await cluster.first.service.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
                #expect(
                    try await endsWithinTheLease {
                        // A cut connection is an error, which accepts nothing.
                        (try? await service.authenticateDevice(credential: device.credential)) != .revoked
                    })
            }
        }
    }

    /// Nothing arrives from the server any more, while another collector could still reach it.
    @Test func `With a frozen server, nobody is accepted from memory after the lease`() async throws {
        let server = try await PostgresServer.start()
        let cluster = try await TestCluster.start(
            on: server, clock: SystemBootClock(), statementTimeoutSeconds: 1)
        let service = cluster.second.service
        try await running(cluster) {
            let device = try await cluster.enroll()
            #expect(try await eventually { service.lease.isValid })
            let row = try await service.device(of: device.credential)
            _ = try await cluster.first.service.issueBeacon(to: device.deviceID)
            #expect(try await eventually { service.openCommands(of: row, at: SystemTime().now()).count == 1 })
            await server.freeze()
            var refusal: (any Error)?
            let isRefused = try await endsWithinTheLease {
                do {
                    _ = try await service.device(of: device.credential)
                    return true
                } catch {
                    refusal = error
                    return false
                }
            }
            #expect(isRefused)
            #expect((refusal as? StoreError)?.code == .unavailable, "\(String(describing: refusal))")
            #expect(!service.lease.isValid)
            #expect(service.openCommands(of: row, at: SystemTime().now()).isEmpty)
            await server.thaw()
            #expect(try await eventually { service.lease.isValid })
            #expect(
                try await eventually { (try? await service.device(of: device.credential)) != nil })
            #expect(try await eventually { service.openCommands(of: row, at: SystemTime().now()).count == 1 })
        }
    }
}

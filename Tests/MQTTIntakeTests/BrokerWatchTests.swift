import Foundation
import Logging
import Registry
import StoreTestKit
import TestKit
import Testing

@testable import MQTTIntake

@Suite("A broker that is gone for long")
struct BrokerWatchTests {
    private static let second: Int64 = 1_000_000

    @Test func `A notice is raised after five minutes without a connection, and ends with the next one`() async throws {
        let directory = try TemporaryDirectory()
        let (metadata, _) = try MetadataService.open(
            directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
        let notices = NoticeService(metadata: metadata)
        let watch = BrokerWatch(peer: "broker.example:8883", notices: notices, logger: quietLogger)
        func open() async throws -> [NoticeRow] {
            try await notices.page(organization: nil, below: nil, limit: 10).rows.filter {
                $0.code == .brokerUnreachable && $0.isOpen
            }
        }
        await watch.look(at: 0)
        watch.disconnected("it refused the connection", at: 1 * Self.second)
        await watch.look(at: 299 * Self.second)
        #expect(try await open().isEmpty)
        watch.disconnected("it was not resolved", at: 299 * Self.second)
        await watch.look(at: 301 * Self.second)
        let notice = try #require(try await open().first)
        #expect(notice.subject == "broker.example:8883" && notice.detail.contains("it was not resolved"))
        await watch.look(at: 400 * Self.second)
        #expect(try await open().first?.count == 1, "once")
        watch.connected()
        await watch.look(at: 401 * Self.second)
        #expect(try await open().isEmpty)
        await metadata.close()
    }
}
